#include "target/vta/Packing.h"

#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"
#include "target/vta/schedule/OperatorShape.h"

using namespace mlir;

namespace headrace::vta {

namespace {

/// [n, b, c, k, h, w] -> [n, c, h, w, b, k], and back.
constexpr int64_t toBlocks[] = {0, 2, 4, 5, 1, 3}, fromBlocks[] = {0, 4, 1, 5, 2, 3};

Value reshaped(OpBuilder &b, Location loc, Value value, ArrayRef<int64_t> shape) {
  RankedTensorType from = hr::typeOf(value);
  if (from.getShape() == shape)
    return value;
  return b.create<hr::ReshapeOp>(loc, RankedTensorType::get(shape, from.getElementType()), value);
}

/// Adds or subtracts 128 by flipping the highest bit.
Value turned(OpBuilder &b, Location loc, Value value, Type to) {
  return createMap(b, loc, {value}, [&](OpBuilder &body, ValueRange scalars) -> Value {
    Value bits = scalars[0];
    Type byte = body.getI8Type();
    if (bits.getType() != byte)
      bits = body.create<hr::BitsOp>(loc, byte, bits);
    Value high = body.create<arith::ConstantOp>(loc, body.getI8IntegerAttr(-128));
    Value result = body.create<arith::XOrIOp>(loc, bits, high);
    return to == byte ? result : body.create<hr::BitsOp>(loc, to, result).getResult();
  });
}

} // namespace

RankedTensorType packedType(const Image &image, const Configuration &configuration,
                            MLIRContext *context) {
  return RankedTensorType::get({dividedUp(image.batch, configuration.batch()),
                                dividedUp(image.channels, configuration.block()), image.height,
                                image.width, configuration.batch(), configuration.block()},
                               IntegerType::get(context, 8));
}

Value packed(OpBuilder &b, Location loc, Value value, const Image &image,
             const Configuration &configuration) {
  if (hr::typeOf(value).getElementType().isUnsignedInteger())
    value = turned(b, loc, value, b.getI8Type());
  value = reshaped(b, loc, value, {image.batch, image.channels, image.height, image.width});
  ArrayRef<int64_t> blocks = packedType(image, configuration, b.getContext()).getShape();
  int64_t batch = blocks[0] * blocks[4] - image.batch;
  int64_t channels = blocks[1] * blocks[5] - image.channels;
  if (batch || channels)
    value =
        b.create<hr::PadOp>(loc, value, b.getDenseI64ArrayAttr({0, 0, 0, 0}),
                            b.getDenseI64ArrayAttr({batch, channels, 0, 0}), b.getI8IntegerAttr(0));
  value = reshaped(b, loc, value,
                   {blocks[0], blocks[4], blocks[1], blocks[5], image.height, image.width});
  return b.create<hr::TransposeOp>(loc, value, b.getDenseI64ArrayAttr(toBlocks));
}

Value unpacked(OpBuilder &b, Location loc, Value memory, const Image &image,
               RankedTensorType type) {
  ArrayRef<int64_t> blocks = hr::typeOf(memory).getShape();
  Value value = b.create<hr::TransposeOp>(loc, memory, b.getDenseI64ArrayAttr(fromBlocks));
  value = reshaped(b, loc, value,
                   {blocks[0] * blocks[4], blocks[1] * blocks[5], image.height, image.width});
  auto whole = RankedTensorType::get({image.batch, image.channels, image.height, image.width},
                                     b.getI8Type());
  if (value.getType() != whole) {
    AffineExpr zero = constantDim(0, b.getContext());
    value = b.create<hr::SliceOp>(
        loc, whole, value, AffineMapAttr::get(symbolMap({zero, zero, zero, zero}, b.getContext())),
        b.getDenseI64ArrayAttr({1, 1, 1, 1}));
  }
  value = reshaped(b, loc, value, type.getShape());
  if (type.getElementType().isUnsignedInteger())
    value = turned(b, loc, value, type.getElementType());
  return value;
}

} // namespace headrace::vta
