// Reference evaluation of operators that only move elements.
#include "dialect/reference/Reference.h"

#include "dialect/ConstantData.h"

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

Tensor TransposeOp::evaluate(Tensors inputs, Sizes) {
  return permuted(inputs[0], getPermutation());
}

Tensor ReshapeOp::evaluate(Tensors inputs, Sizes symbols) {
  return inputs[0].reshaped(resultShape(getResult(), symbols));
}

Tensor BroadcastOp::evaluate(Tensors inputs, Sizes symbols) {
  return broadcastTo(inputs[0], resultShape(getResult(), symbols));
}

Tensor SliceOp::evaluate(Tensors inputs, Sizes symbols) {
  const Tensor &input = inputs[0];
  Tensor result = allocateResult(getResult(), symbols);
  if (result.elements() == 0)
    return result;
  SmallVector<int64_t> strides = rowMajorStrides(input.shape());
  Placement source;
  for (auto [i, size] : llvm::enumerate(result.shape())) {
    int64_t start = evaluateSize(getStarts().getResult(i), symbols), step = getSteps()[i];
    int64_t last;
    if (__builtin_mul_overflow(size - 1, step, &last) || __builtin_add_overflow(last, start, &last))
      last = step < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
    for (int64_t position : {start, last})
      if (position < 0 || position >= input.shape()[i])
        throw Error(ErrorKind::ShapeMismatch,
                    operatorName(*this) + ": expected a slice inside dimension " +
                        std::to_string(i) + " of size " + std::to_string(input.shape()[i]) +
                        ", got element " + std::to_string(position));
    source.offset += start * strides[i];
    source.strides.push_back(size == 1 ? 0 : step * strides[i]);
  }
  copyBlock(result.shape(), input, source, result, {0, rowMajorStrides(result.shape())});
  return result;
}

Tensor ConcatOp::evaluate(Tensors inputs, Sizes symbols) {
  Tensor result = allocateResult(getResult(), symbols);
  SmallVector<int64_t> strides = rowMajorStrides(result.shape());
  int64_t position = 0;
  for (const Tensor &input : inputs) {
    copyBlock(input.shape(), input, {0, rowMajorStrides(input.shape())}, result,
              {position * strides[getAxis()], strides});
    position += input.shape()[getAxis()];
  }
  return result;
}

static void fill(Tensor &tensor, Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    std::fill_n(tensor.as<double>(), tensor.elements(), number.getValueAsDouble());
  else if (auto integer = cast<IntegerAttr>(value); tensor.dtype() == DType::Bool)
    std::fill_n(tensor.as<uint8_t>(), tensor.elements(), !integer.getValue().isZero());
  else
    std::fill_n(tensor.as<int64_t>(), tensor.elements(),
                wrapToType(integer.getValue().getSExtValue(), integer.getType()));
}

/// Element i of the input becomes element i + low of the result; negative pads cut elements off.
Tensor PadOp::evaluate(Tensors inputs, Sizes symbols) {
  const Tensor &input = inputs[0];
  Tensor result = allocateResult(getResult(), symbols);
  fill(result, getValue());
  Placement source{0, rowMajorStrides(input.shape())};
  Placement target{0, rowMajorStrides(result.shape())};
  SmallVector<int64_t> kept;
  for (auto [i, pad] : llvm::enumerate(getLow())) {
    // Beyond these limits nothing of the input is left either.
    int64_t low = std::clamp(pad, -input.shape()[i], result.shape()[i]);
    int64_t first = std::max<int64_t>(0, -low);
    int64_t end = std::min(input.shape()[i], result.shape()[i] - low);
    if (first >= end)
      return result;
    kept.push_back(end - first);
    source.offset += first * source.strides[i];
    target.offset += (first + low) * target.strides[i];
  }
  copyBlock(kept, input, source, result, target);
  return result;
}

Tensor PlaceOp::evaluate(Tensors inputs, Sizes symbols) {
  Tensor result = allocateResult(getResult(), symbols);
  withElement(result.dtype(), [&](auto zero) {
    std::fill_n(result.as<decltype(zero)>(), result.elements(), zero);
  });
  if (inputs[0].elements() == 0)
    return result;
  Placement target{0, rowMajorStrides(result.shape())};
  for (auto [i, size] : llvm::enumerate(inputs[0].shape())) {
    int64_t start = evaluateSize(getStarts().getResult(i), symbols);
    if (start < 0 || start + (size - 1) * getSteps()[i] >= result.shape()[i])
      throw Error(ErrorKind::ShapeMismatch, operatorName(*this) + ": expected room for " +
                                                std::to_string(size) +
                                                " elements along dimension " + std::to_string(i) +
                                                ", got " + std::to_string(result.shape()[i]));
    target.offset += start * target.strides[i];
    target.strides[i] *= getSteps()[i];
  }
  copyBlock(inputs[0].shape(), inputs[0], {0, rowMajorStrides(inputs[0].shape())}, result, target);
  return result;
}

} // namespace headrace::hr
