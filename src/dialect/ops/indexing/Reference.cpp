// Reference evaluation of operators that pick and place elements by index.
#include "dialect/reference/Reference.h"

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
                                              std::to_string(axis) + ", found none");
  for (int64_t i = 0; i < count; ++i) {
    int64_t index = indices.as<int64_t>()[i];
    index = std::clamp<int64_t>(index < 0 ? index + size : index, 0, size - 1);
    copyBlock({outer, inner}, data, {index * inner, {size * inner, 1}}, result,
              {i * inner, {count * inner, 1}});
  }
  return result;
}

Tensor ScatterAddOp::evaluate(Tensors inputs, Sizes symbols) {
  const Tensor &updates = inputs[0];
  Tensor indices = inputs[1].converted(DType::I64);
  Tensor result = allocateResult(getResult(), symbols);
  int64_t outer = updates.shape()[0], count = updates.shape()[1], inner = updates.shape()[2];
  int64_t size = result.shape()[1];
  double *to = result.as<double>();
  std::fill_n(to, result.elements(), 0.0);
  if (result.elements() == 0)
    return result;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < count; ++i) {
      int64_t index = indices.as<int64_t>()[i];
      index = std::clamp<int64_t>(index < 0 ? index + size : index, 0, size - 1);
      for (int64_t j = 0; j < inner; ++j)
        to[(o * size + index) * inner + j] += updates.as<double>()[(o * count + i) * inner + j];
    }
  return result;
}

} // namespace headrace::hr
