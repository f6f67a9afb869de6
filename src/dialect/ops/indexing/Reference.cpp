// Reference evaluation of operators that pick and place elements by index.
#include "dialect/reference/Reference.h"

#include <cmath>

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

/// An index outside the axis picks its nearest end, so that no input can read outside the data.
Tensor GatherOp::evaluate(Tensors inputs, Sizes symbols) {
  const Tensor &data = inputs[0];
  Tensor indices = inputs[1].converted(DType::I64);
  Tensor result = allocateResult(getResult(), symbols);
  Sizes shape = data.shape();
  int64_t axis = getAxis(), size = shape[axis], count = indices.elements();
  int64_t outer = product(shape.take_front(axis)), inner = product(shape.drop_front(axis + 1));
  if (result.elements() == 0)
    return result;
  if (size == 0)
    throw Error(ErrorKind::ShapeMismatch, operatorName(*this) +
                                              ": expected elements to pick along axis " +
                                              std::to_string(axis) + ", got none");
  for (int64_t i = 0; i < count; ++i) {
    int64_t index = indices.as<int64_t>()[i];
    index = std::clamp<int64_t>(index < 0 ? index + size : index, 0, size - 1);
    copyBlock({outer, inner}, data, {index * inner, {size * inner, 1}}, result,
              {i * inner, {count * inner, 1}});
  }
  return result;
}

template <class T>
static T combined(std::optional<ReduceKind> kind, bool isUnsigned, T old, T update) {
  auto less = [&](T x, T y) {
    if constexpr (std::is_same_v<T, int64_t>)
      return isUnsigned ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
    return x < y;
  };
  if (!kind)
    return update;
  if constexpr (std::is_same_v<T, double>)
    if (*kind == ReduceKind::Max || *kind == ReduceKind::Min)
      if (std::isnan(old) || std::isnan(update))
        return old + update;
  switch (*kind) {
  case ReduceKind::Max:
    return less(old, update) ? update : old;
  case ReduceKind::Min:
    return less(update, old) ? update : old;
  default:
    break;
  }
  if constexpr (std::is_same_v<T, double>)
    return *kind == ReduceKind::Sum ? old + update : old * update;
  auto x = static_cast<uint64_t>(old), y = static_cast<uint64_t>(update);
  return static_cast<T>(*kind == ReduceKind::Sum ? x + y : x * y);
}

Tensor ScatterOp::evaluate(Tensors inputs, Sizes symbols) {
  const Tensor &updates = inputs[0];
  Tensor indices = inputs[1].converted(DType::I64);
  Tensor result = allocateResult(getResult(), symbols);
  int64_t outer = updates.shape()[0], count = updates.shape()[1], inner = updates.shape()[2];
  int64_t size = result.shape()[1];
  Type element = cast<RankedTensorType>(getType()).getElementType();
  if (result.elements() == 0)
    return result;
  withElement(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T *to = result.as<T>();
    if (getData())
      std::copy_n(inputs[2].as<T>(), result.elements(), to);
    else
      std::fill_n(to, result.elements(), zero);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < count; ++i) {
        int64_t index = indices.as<int64_t>()[i];
        index = std::clamp<int64_t>(index < 0 ? index + size : index, 0, size - 1);
        for (int64_t j = 0; j < inner; ++j) {
          T &place = to[(o * size + index) * inner + j];
          place = combined<T>(getKind(), element.isUnsignedInteger(), place,
                              updates.as<T>()[(o * count + i) * inner + j]);
        }
      }
  });
  return result.dtype() == DType::I64 ? wrapped(result, element) : result;
}

} // namespace headrace::hr
