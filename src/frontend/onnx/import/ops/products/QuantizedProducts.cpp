// Products of 8-bit integers, summed in 32 bits. With zero points a and b,
//   sum (x - a)(w - b) = sum xw - a sum w - b sum x + n a b,
// so that the product itself reads bytes, and sums over constants are constants. It holds modulo
// 2^32 whatever overflows.
#include "frontend/common/Products.h"
#include "frontend/onnx/import/ops/Composing.h"
#include "frontend/onnx/import/ops/products/Quantization.h"
#include "frontend/onnx/import/ops/windows/Convolution.h"

using namespace mlir;

namespace headrace::onnx {

using Factor = ByteFactor;

static bool isZero(const Tensor &tensor) {
  if (!tensor)
    return false;
  Tensor wide = tensor.converted(DType::I64);
  return llvm::all_of(ArrayRef(wide.as<int64_t>(), wide.elements()),
                      [](int64_t value) { return value == 0; });
}

/// The constant minus its zero points along `axis`, in 8 bits if that fits.
static std::optional<Tensor> shifted(const Tensor &data, const Tensor &zeroPoint, int64_t axis) {
  Tensor wide = data.converted(DType::I64), zero = zeroPoint.converted(DType::I64);
  int64_t inner = 1, size = zero.elements();
  for (size_t i = axis + 1; i < data.shape().size(); ++i)
    inner *= data.shape()[i];
  if (size != 1 && (data.shape().empty() || size != data.shape()[axis]))
    return std::nullopt;
  Tensor result = Tensor::allocate(DType::I64, data.shape());
  int64_t least = 0, greatest = 0;
  for (int64_t i = 0; i < wide.elements(); ++i) {
    int64_t value = wide.as<int64_t>()[i] - zero.as<int64_t>()[size == 1 ? 0 : i / inner % size];
    result.as<int64_t>()[i] = value;
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  if (least >= -128 && greatest <= 127)
    return result.converted(DType::I8);
  if (least >= 0 && greatest <= 255)
    return result.converted(DType::U8);
  return std::nullopt;
}

/// Input `data` with zero point `zero`, if any; of several, each belongs to a position of `axis`.
static Factor readFactor(NodeContext &c, size_t data, size_t zero, int64_t axis) {
  Factor factor{c.input(data, Accepts::Integers), nullptr};
  Type type = c.type(data).getElementType();
  if (type.getIntOrFloatBitWidth() != 8)
    c.fail(ErrorKind::TypeMismatch, "{0}: expected 8-bit integers, got {1}", c.nameOfInput(data),
           typeText(type));
  if (!c.has(zero))
    return factor;
  c.checkSameType(data, zero);
  if (isZero(c.constant(zero)))
    return factor;
  if (c.constant(data) && c.constant(zero))
    if (auto moved = shifted(c.constant(data), c.constant(zero), axis)) {
      factor.tensor = createConstant(c.builder, c.loc, *moved);
      return factor;
    }
  SymbolicShape shape = c.shape(zero);
  factor.zeroPoint = c.cast(c.input(zero), c.builder.getI32Type());
  if (llvm::all_of(shape, [](AffineExpr size) { return constantValue(size) == 1; })) {
    factor.zeroPoint = c.reshape(factor.zeroPoint, {});
  } else if (shape.size() == 1) {
    if (c.rank(data) <= axis || !sameSize(shape[0], c.shape(data)[axis]))
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected one number or {1}, got {2}",
             c.nameOfInput(zero), c.text({c.shape(data)[axis]}), c.text(shape));
    shape.append(c.rank(data) - axis - 1, c.dim(1));
    factor.zeroPoint = c.reshape(factor.zeroPoint, shape);
  }
  return factor;
}

static Value sumOver(NodeContext &c, Value tensor, ArrayRef<int64_t> axes, bool keepDims) {
  return c.reduce(hr::ReduceKind::Sum, c.cast(tensor, c.builder.getI32Type()), axes, keepDims);
}

/// A vector as a matrix of one row or column.
static Value asMatrix(NodeContext &c, Value tensor, bool isRow) {
  SymbolicShape shape = shapeOf(tensor);
  if (shape.size() != 1)
    return tensor;
  shape.insert(isRow ? shape.begin() : shape.end(), c.dim(1));
  return c.reshape(tensor, shape);
}

/// A product of matrices, less the dimensions that made one of a vector.
static Value withoutAddedDims(NodeContext &c, Value product, int64_t lhsRank, int64_t rhsRank) {
  SymbolicShape shape = shapeOf(product);
  if (rhsRank == 1)
    shape.pop_back();
  if (lhsRank == 1)
    shape.erase(shape.end() - (rhsRank == 1 ? 1 : 2));
  return c.reshape(product, shape);
}

static Value productOf(NodeContext &c, Factor lhs, Factor rhs) {
  int64_t lhsRank = shapeOf(lhs.tensor).size(), rhsRank = shapeOf(rhs.tensor).size();
  Type i32 = c.builder.getI32Type();
  Value left = asMatrix(c, lhs.tensor, true), right = asMatrix(c, rhs.tensor, false);
  Value result = matrixProduct(c, left, right, i32);
  int64_t leftRank = shapeOf(left).size(), rightRank = shapeOf(right).size();
  if (lhs.zeroPoint)
    result =
        subtract(c, result, multiply(c, lhs.zeroPoint, sumOver(c, right, {rightRank - 2}, true)));
  if (rhs.zeroPoint)
    result =
        subtract(c, result, multiply(c, rhs.zeroPoint, sumOver(c, left, {leftRank - 1}, true)));
  if (lhs.zeroPoint && rhs.zeroPoint) {
    Value both = multiply(c, lhs.zeroPoint, rhs.zeroPoint);
    Value count = c.sizeAsData(shapeOf(left).back(), i32);
    result = c.map({result, both, count},
                   [](ScalarMath &m, ValueRange x) { return m.add(x[0], m.mul(x[1], x[2])); });
  }
  return withoutAddedDims(c, result, lhsRank, rhsRank);
}

static void checkIsList(NodeContext &c, size_t i) {
  if (c.rank(i) < 1)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected rank 1 or more, got a scalar",
           c.nameOfInput(i));
}

Value integerProduct(NodeContext &c, size_t lhs, size_t rhs, size_t lhsZero, size_t rhsZero) {
  checkIsList(c, lhs);
  checkIsList(c, rhs);
  return productOf(c, readFactor(c, lhs, lhsZero, std::max<int64_t>(c.rank(lhs) - 2, 0)),
                   readFactor(c, rhs, rhsZero, c.rank(rhs) - 1));
}

/// Sums of more products of 8-bit integers, each less its zero point, may leave 32 bits.
static constexpr int64_t maxTerms = std::numeric_limits<int32_t>::max() / (255 * 255);

/// The dimensions with `size` before the last two.
static SymbolicShape inFrontOfMatrices(SymbolicShape shape, AffineExpr size) {
  shape.insert(shape.end() - 2, size);
  return shape;
}

/// The matmul as the sum, in f32, of matmuls of `terms` terms each and of one for the remainder.
static Value productInParts(NodeContext &c, Factor lhs, Factor rhs) {
  int64_t lhsRank = shapeOf(lhs.tensor).size(), rhsRank = shapeOf(rhs.tensor).size();
  lhs.tensor = asMatrix(c, lhs.tensor, true);
  rhs.tensor = asMatrix(c, rhs.tensor, false);
  SymbolicShape left = shapeOf(lhs.tensor), right = shapeOf(rhs.tensor);
  int64_t column = left.size() - 1, row = right.size() - 2;
  AffineExpr terms = left.back(), parts = terms.floorDiv(maxTerms), whole = parts * maxTerms;
  auto piece = [&](AffineExpr start, AffineExpr size) {
    return std::pair(part(c, lhs.tensor, column, start, size),
                     part(c, rhs.tensor, row, start, size));
  };
  auto asFloats = [&](Value sums) { return c.cast(sums, Float32Type::get(c.context)); };

  auto [leftRest, rightRest] = piece(whole, normalized(terms - whole));
  Value rest = asFloats(productOf(c, {leftRest, lhs.zeroPoint}, {rightRest, rhs.zeroPoint}));

  auto [leftWhole, rightWhole] = piece(c.dim(0), whole);
  left.back() = parts;
  left.push_back(c.dim(maxTerms));
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, left.size()));
  std::swap(order[column - 1], order[column]);
  right[row] = c.dim(maxTerms);
  auto besideParts = [&](Value zeroPoint) {
    if (!zeroPoint || shapeOf(zeroPoint).size() < 3)
      return zeroPoint;
    return c.reshape(zeroPoint, inFrontOfMatrices(shapeOf(zeroPoint), c.dim(1)));
  };
  Value sums = productOf(
      c, {c.transpose(c.reshape(leftWhole, left), order), besideParts(lhs.zeroPoint)},
      {c.reshape(rightWhole, inFrontOfMatrices(right, parts)), besideParts(rhs.zeroPoint)});
  int64_t rank = shapeOf(sums).size();
  Value total = c.reduce(hr::ReduceKind::Sum, asFloats(sums), {rank - 3}, /*keepDims=*/false);
  return withoutAddedDims(c, add(c, total, rest), lhsRank, rhsRank);
}

/// The product in 32 bits; one whose sums may be too long for them is made in parts. Sums of an
/// dynamic length are taken to be short enough, which is a guard, if a range of one size says so.
static Value unwrappedProduct(NodeContext &c, Factor lhs, Factor rhs) {
  AffineExpr terms = shapeOf(lhs.tensor).back();
  SymbolicShape right = shapeOf(rhs.tensor);
  bool fits = sameSize(terms, right[right.size() < 2 ? 0 : right.size() - 2]);
  return !fits || c.tryRequireNonNegative(maxTerms - terms) ? productOf(c, lhs, rhs)
                                                            : productInParts(c, lhs, rhs);
}

Value unwrappedProduct(NodeContext &c, ByteFactor lhs, size_t rhs, size_t rhsZero) {
  checkIsList(c, rhs);
  lhs.zeroPoint = c.cast(lhs.zeroPoint, c.builder.getI32Type());
  return unwrappedProduct(c, lhs, readFactor(c, rhs, rhsZero, c.rank(rhs) - 1));
}

Value unwrappedProduct(NodeContext &c, size_t lhs, size_t rhs, size_t lhsZero, size_t rhsZero) {
  checkIsList(c, lhs);
  checkIsList(c, rhs);
  return unwrappedProduct(c, readFactor(c, lhs, lhsZero, std::max<int64_t>(c.rank(lhs) - 2, 0)),
                          readFactor(c, rhs, rhsZero, c.rank(rhs) - 1));
}

/// The image surrounded with its zero point, which stands for 0; the window has no pads then.
static Value padded(NodeContext &c, Value image, int64_t zeroPoint, Window &window) {
  Type type = cast<RankedTensorType>(image.getType()).getElementType();
  auto value = cast<TypedAttr>(c.builder.getIntegerAttr(type, zeroPoint));
  if (window.open)
    return padOpenSizes(c, image, window, value);
  ArrayRef<int64_t> pads = window.pads;
  SmallVector<int64_t> low(2, 0), high(2, 0);
  low.append(pads.begin(), pads.begin() + pads.size() / 2);
  high.append(pads.begin() + pads.size() / 2, pads.end());
  window.pads.assign(pads.size(), 0);
  return c.infer<hr::PadOp>(image, low, high, value);
}

static Value convolutionOf(NodeContext &c, size_t filterInput, size_t imageZero,
                           size_t filterZero) {
  Factor image = readFactor(c, 0, imageZero, 1), filter = readFactor(c, filterInput, filterZero, 0);
  ConvolutionAttributes conv = readConvolution(c, filterInput);
  Type i32 = c.builder.getI32Type();
  if (filter.zeroPoint) {
    filter.tensor = subtract(c, c.cast(filter.tensor, i32), filter.zeroPoint);
    filter.zeroPoint = nullptr;
  }
  if (image.zeroPoint && !shapeOf(image.zeroPoint).empty())
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected one number, got {1}", c.nameOfInput(imageZero),
           c.text(c.shape(imageZero)));
  bool isPadded = llvm::any_of(conv.pads, [](int64_t pad) { return pad != 0; });
  if (image.zeroPoint && isPadded && c.constant(imageZero)) {
    Tensor number = c.constant(imageZero).converted(DType::I64);
    image.tensor = padded(c, image.tensor, *number.as<int64_t>(), conv);
  } else if (image.zeroPoint && isPadded) {
    // Padding is known when the program is compiled, the zero point is not.
    image.tensor = subtract(c, c.cast(image.tensor, i32), image.zeroPoint);
    image.zeroPoint = nullptr;
  }
  if (conv.open)
    image.tensor = padded(c, image.tensor, 0, conv);
  Value result =
      c.infer<hr::ConvOp>(image.tensor, filter.tensor, conv.strides, conv.dilations, conv.pads,
                          conv.groups, hr::ChannelLayout::First, TypeAttr::get(i32));
  if (!image.zeroPoint)
    return result;
  auto window = llvm::to_vector(llvm::seq<int64_t>(1, c.rank(0)));
  Value sums = perFeature(c, sumOver(c, filter.tensor, window, false), c.rank(0) - 2);
  return subtract(c, result, multiply(c, image.zeroPoint, sums));
}

/// Scale `i` as f32, next to the result: `toShape` places one that is a list.
static Value scaleOf(NodeContext &c, size_t i, function_ref<SymbolicShape(SymbolicShape)> toShape) {
  Value scale = c.cast(c.input(i, Accepts::Floats), Float32Type::get(c.context));
  SymbolicShape shape = c.shape(i);
  if (llvm::all_of(shape, [](AffineExpr size) { return constantValue(size) == 1; }))
    return c.reshape(scale, {});
  return shape.size() == 1 ? c.reshape(scale, toShape(shape)) : scale;
}

/// `first * second / result` of constants, rounded at each step as the data would be; nothing if
/// one of them is not a constant, or the first or the result's has more than one element.
static std::optional<Tensor> constantMultiplier(NodeContext &c, std::array<size_t, 3> scales) {
  for (size_t i : scales)
    if (!c.constant(i) || (i != scales[1] && c.constant(i).elements() != 1))
      return std::nullopt;
  auto single = [&](size_t i) { return c.constant(i).converted(DType::F32); };
  Tensor first = single(scales[0]), second = single(scales[1]), result = single(scales[2]);
  Tensor product = Tensor::allocate(DType::F32, second.shape());
  for (int64_t i = 0; i < product.elements(); ++i)
    product.as<float>()[i] = *first.as<float>() * second.as<float>()[i] / *result.as<float>();
  return product;
}

/// The sums times `first * second / result`, rounded to the type of the zero point `zero`.
static Value requantized(NodeContext &c, Value sums, std::array<size_t, 3> scales, size_t zero,
                         std::array<Value, 2> factors) {
  Type type = c.type(zero).getElementType();
  auto isOne = [](AffineExpr size) { return constantValue(size) == 1; };
  for (size_t i : {scales[2], zero})
    if (!llvm::all_of(c.shape(i), isOne))
      c.fail(ErrorKind::Unsupported, "{0}: expected one number, got {1}", c.nameOfInput(i),
             c.text(c.shape(i)));
  Value zeroPoint = c.reshape(c.input(zero, Accepts::Integers), {});
  if (isZero(c.constant(zero)))
    zeroPoint = nullptr;
  Value multiplier;
  if (auto known = constantMultiplier(c, scales)) {
    multiplier = c.reshape(createConstant(c.builder, c.loc, *known), shapeOf(factors[1]));
  } else {
    Value divisor = scaleOf(c, scales[2], [](SymbolicShape shape) { return shape; });
    multiplier = c.map({factors[0], factors[1], divisor},
                       [](ScalarMath &m, ValueRange x) { return m.div(m.mul(x[0], x[1]), x[2]); });
  }
  SmallVector<Value> inputs{sums, multiplier};
  if (zeroPoint)
    inputs.push_back(zeroPoint);
  return c.map(inputs, [&](ScalarMath &m, ValueRange x) {
    Value number = m.mul(m.convert(x[0], Float32Type::get(c.context)), x[1]);
    return quantized(m, number, x.size() > 2 ? x[2] : Value(), type);
  });
}

void importMatMulInteger(NodeContext &c) { c.result(integerProduct(c, 0, 1, 2, 3)); }
void importConvInteger(NodeContext &c) { c.result(convolutionOf(c, 1, 2, 3)); }

void importQLinearMatMul(NodeContext &c) {
  Value sums = integerProduct(c, 0, 3, 2, 5);
  auto alongRows = [&](SymbolicShape shape) {
    shape.push_back(c.dim(1));
    return shape;
  };
  auto alongColumns = [](SymbolicShape shape) { return shape; };
  c.result(
      requantized(c, sums, {1, 4, 6}, 7, {scaleOf(c, 1, alongRows), scaleOf(c, 4, alongColumns)}));
}

void importQLinearConv(NodeContext &c) {
  Value sums = convolutionOf(c, 3, 2, 5);
  int64_t spatial = c.rank(0) - 2;
  if (c.has(8)) {
    c.checkRank(8, 1);
    Value bias = c.input(8, Accepts::Integers);
    if (!c.type(8).getElementType().isSignlessInteger(32) ||
        !sameSize(c.shape(8)[0], c.shape(3)[0]))
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1} values of type i32, got {2} of {3}",
             c.nameOfInput(8), c.text({c.shape(3)[0]}), c.text(c.shape(8)),
             typeText(c.type(8).getElementType()));
    sums = c.map({sums, perFeature(c, bias, spatial)},
                 [](ScalarMath &m, ValueRange x) { return m.add(x[0], x[1]); });
  }
  auto alongFeatures = [&](SymbolicShape shape) {
    shape.append(spatial, c.dim(1));
    return shape;
  };
  auto same = [](SymbolicShape shape) { return shape; };
  c.result(requantized(c, sums, {1, 4, 6}, 7, {scaleOf(c, 1, same), scaleOf(c, 4, alongFeatures)}));
}

} // namespace headrace::onnx
