#include "transform/simplify/ConstantMovement.h"

#include "dialect/ConstantData.h"
#include "runtime/system/Error.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;

namespace headrace {

ElementsAttr reshapeConstant(ElementsAttr value, RankedTensorType type) {
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return dense.reshape(type);
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    return DenseResourceElementsAttr::get(type, resource.getRawHandle());
  return {};
}

SplatElementsAttr asSplat(ElementsAttr value) {
  if (isa<DenseResourceElementsAttr>(value) && value.getNumElements() == 1)
    value = tensorAttribute(constantTensor(value), cast<RankedTensorType>(value.getShapedType()));
  return dyn_cast<SplatElementsAttr>(value);
}

namespace {

/// One loop of a copy, its steps in elements.
struct Loop {
  int64_t size, inputStep, outputStep;
};

/// Runs `body(inputOffset, outputOffset)` over all points of the loops.
template <class Body>
void forAll(ArrayRef<Loop> loops, Body body, int64_t input = 0, int64_t output = 0) {
  if (loops.empty())
    return body(input, output);
  for (int64_t i = 0; i < loops.front().size; ++i)
    forAll(loops.drop_front(), body, input + i * loops.front().inputStep,
           output + i * loops.front().outputStep);
}

/// Copies a plane whose rows lie along the input and columns along the output, in blocks that keep
/// both sides in the first-level cache.
template <class T> void copyPlane(const T *input, T *output, Loop alongInput, Loop alongOutput) {
  constexpr int64_t kBlock = 32;
  for (int64_t i0 = 0; i0 < alongInput.size; i0 += kBlock)
    for (int64_t j0 = 0; j0 < alongOutput.size; j0 += kBlock)
      for (int64_t i = i0; i < std::min(i0 + kBlock, alongInput.size); ++i)
        for (int64_t j = j0; j < std::min(j0 + kBlock, alongOutput.size); ++j)
          output[i * alongInput.outputStep + j] = input[i + j * alongOutput.inputStep];
}

template <class T> void copyTransposed(const T *input, T *output, SmallVector<Loop> loops) {
  // The last loop steps through the output by one.
  Loop alongOutput = loops.pop_back_val();
  if (alongOutput.inputStep == 1)
    return forAll(loops, [&](int64_t from, int64_t to) {
      std::memcpy(output + to, input + from, alongOutput.size * sizeof(T));
    });
  auto *found = llvm::find_if(loops, [](Loop loop) { return loop.inputStep == 1; });
  Loop alongInput = *found;
  loops.erase(found);
  forAll(loops, [&](int64_t from, int64_t to) {
    copyPlane(input + from, output + to, alongInput, alongOutput);
  });
}

/// The loops of the result from outermost to innermost; unit dimensions dropped, dimensions that
/// stay neighbours joined.
SmallVector<Loop> loopsOf(const Shape &shape, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> inputSteps(shape.size());
  int64_t step = 1;
  for (int64_t i = static_cast<int64_t>(shape.size()) - 1; i >= 0; --i) {
    inputSteps[i] = step;
    step *= shape[i];
  }
  SmallVector<Loop> loops;
  for (int64_t dim : permutation) {
    if (shape[dim] == 1)
      continue;
    if (!loops.empty() && loops.back().inputStep == inputSteps[dim] * shape[dim]) {
      loops.back().size *= shape[dim];
      loops.back().inputStep = inputSteps[dim];
    } else {
      loops.push_back({shape[dim], inputSteps[dim], 0});
    }
  }
  if (loops.empty())
    loops.push_back({1, 1, 0});
  step = 1;
  for (Loop &loop : llvm::reverse(loops)) {
    loop.outputStep = step;
    step *= loop.size;
  }
  return loops;
}

} // namespace

Tensor transposedCopy(const Tensor &input, ArrayRef<int64_t> permutation) {
  Shape shape;
  for (int64_t dim : permutation)
    shape.push_back(input.shape()[dim]);
  Tensor result = Tensor::allocate(input.dtype(), shape);
  if (input.elements() == 0)
    return result;
  SmallVector<Loop> loops = loopsOf(input.shape(), permutation);
  switch (sizeOf(input.dtype())) {
  case 1:
    copyTransposed(input.as<uint8_t>(), result.as<uint8_t>(), loops);
    return result;
  case 2:
    copyTransposed(input.as<uint16_t>(), result.as<uint16_t>(), loops);
    return result;
  case 4:
    copyTransposed(input.as<uint32_t>(), result.as<uint32_t>(), loops);
    return result;
  case 8:
    copyTransposed(input.as<uint64_t>(), result.as<uint64_t>(), loops);
    return result;
  default:
    throw InternalError("an element has an unexpected size");
  }
}

} // namespace headrace
