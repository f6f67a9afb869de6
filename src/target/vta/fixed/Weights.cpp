#include "target/vta/fixed/Weights.h"

#include "dialect/ConstantData.h"
#include "dialect/ops/Operands.h"
#include "target/vta/fixed/BinaryNumber.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace headrace::vta {

namespace {

/// The common scale of `count` numbers; nothing if all are 0.
std::optional<int> scaleOf(const double *numbers, int64_t count) {
  std::optional<int> least;
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(numbers[i]) || std::fpclassify(numbers[i]) == FP_SUBNORMAL)
      throw Unsupported("its weights are not finite, or too small to distinguish from 0");
    if (numbers[i] != 0)
      least = std::min(least.value_or(INT32_MAX), lowestDigit(numbers[i]));
  }
  return least;
}

bool fits(const double *numbers, int64_t count, int exponent) {
  double unit = std::ldexp(1.0, exponent);
  return std::all_of(numbers, numbers + count,
                     [&](double number) { return number >= -128 * unit && number <= 127 * unit; });
}

/// The weights of a tensor of floats, or of integers of the program, which have no scale.
Weights weightsOf(const Tensor &tensor, bool isInteger) {
  Tensor numbers = tensor.converted(DType::F64);
  int64_t channels = tensor.shape()[0], count = tensor.elements() / std::max<int64_t>(channels, 1);
  const double *all = numbers.as<double>();
  Weights result{Tensor::allocate(DType::I8, tensor.shape()), {}};
  int common = isInteger ? 0 : scaleOf(all, tensor.elements()).value_or(0);
  if (fits(all, tensor.elements(), common)) {
    result.exponents = {common};
  } else if (isInteger) {
    throw Unsupported("its weights are beyond 8 bits with a sign");
  } else {
    for (int64_t channel = 0; channel < channels; ++channel) {
      const double *own = all + channel * count;
      int exponent = scaleOf(own, count).value_or(common);
      if (!fits(own, count, exponent)) {
        double first = *std::find_if(own, own + count,
                                     [&](double number) { return !fits(&number, 1, exponent); });
        throw Unsupported(llvm::formatv("a weight of {0} in channel {1} is no 8-bit integer times "
                                        "the power of two of the others",
                                        first, channel)
                              .str());
      }
      result.exponents.push_back(exponent);
    }
  }
  auto *to = result.integers.as<int8_t>();
  for (int64_t channel = 0; channel < channels; ++channel) {
    size_t own = result.exponents.size() == 1 ? 0 : static_cast<size_t>(channel);
    double scale = std::ldexp(1.0, -result.exponents[own]);
    for (int64_t i = channel * count; i < (channel + 1) * count; ++i)
      to[i] = static_cast<int8_t>(all[i] * scale);
  }
  return result;
}

/// Windows with zeros between their elements.
Tensor dilated(const Tensor &weights, int64_t dilationY, int64_t dilationX) {
  const Shape &from = weights.shape();
  Shape to = {from[0], from[1], (from[2] - 1) * dilationY + 1, (from[3] - 1) * dilationX + 1};
  Tensor result = Tensor::allocate(DType::I8, to);
  std::memset(result.data(), 0, result.bytes());
  for (int64_t i = 0; i < from[0] * from[1]; ++i)
    for (int64_t y = 0; y < from[2]; ++y)
      for (int64_t x = 0; x < from[3]; ++x)
        result.as<int8_t>()[(i * to[2] + y * dilationY) * to[3] + x * dilationX] =
            weights.as<int8_t>()[(i * from[2] + y) * from[3] + x];
  return result;
}

/// The transpose of an F64 matrix.
Tensor transposed(const Tensor &matrix) {
  int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  Tensor result = Tensor::allocate(DType::F64, {columns, rows});
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t row = 0; row < rows; ++row)
      result.as<double>()[column * rows + row] = matrix.as<double>()[row * columns + column];
  return result;
}

} // namespace

Weights weightsOf(hr::ConvOp conv) {
  auto filter = conv.getFilter().getDefiningOp<hr::ConstantOp>();
  if (!filter)
    throw Unsupported("its weights are not constants");
  if (conv.getLayout() != hr::ChannelLayout::First || hr::typeOf(conv.getInput()).getRank() != 4)
    throw Unsupported("is not a convolution of images with channels first");
  Weights weights = weightsOf(constantTensor(filter.getValue()),
                              hr::typeOf(conv.getFilter()).getElementType().isInteger(8));
  weights.integers = dilated(weights.integers, conv.getDilations()[0], conv.getDilations()[1]);
  return weights;
}

Weights weightsOf(hr::ContractOp contract) {
  auto constant = contract.getRhs().getDefiningOp<hr::ConstantOp>();
  if (!constant)
    throw Unsupported("its weights are not constants");
  auto maps = contract.getMaps().getAsValueRange<AffineMapAttr>();
  SmallVector<AffineMap> all(maps.begin(), maps.end());
  AffineMap left = all[0], right = all[1], result = all[2];
  RankedTensorType lhs = hr::typeOf(contract.getLhs()), rhs = hr::typeOf(contract.getRhs());
  unsigned depth = left.getNumResults() ? left.getDimPosition(left.getNumResults() - 1) : 0;
  bool isDense = rhs.getRank() == 2 && lhs.getRank() >= 2 &&
                 result.getNumResults() == left.getNumResults() &&
                 left.dropResults(left.getNumResults() - 1) ==
                     result.dropResults(result.getNumResults() - 1) &&
                 all[0].getNumDims() == left.getNumResults() + 1;
  if (!isDense)
    throw Unsupported("is not a matmul with a constant right-hand matrix");
  unsigned column = result.getDimPosition(result.getNumResults() - 1);
  bool isTransposed = right.getDimPosition(0) == column;
  if (right.getDimPosition(isTransposed ? 1 : 0) != depth ||
      right.getDimPosition(isTransposed ? 0 : 1) != column)
    throw Unsupported("is not a matmul with a constant right-hand matrix");
  Tensor matrix = constantTensor(constant.getValue()).converted(DType::F64);
  return weightsOf(isTransposed ? matrix : transposed(matrix), rhs.getElementType().isInteger(8));
}

} // namespace headrace::vta
