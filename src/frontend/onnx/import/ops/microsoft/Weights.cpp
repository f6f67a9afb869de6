// MatMulNBits of com.microsoft: a product with weights of few bits, packed in bytes and scaled in
// blocks.
#include "frontend/common/Products.h"
#include "frontend/onnx/import/MicrosoftOperators.h"
#include "frontend/onnx/import/ops/Composing.h"

using namespace mlir;

namespace headrace::onnx {

/// The numbers in bytes [..., n], the lowest bits first: [..., n * 8 / bits], of type i32.
static Value unpacked(NodeContext &c, Value bytes, int64_t bits) {
  SymbolicShape shape = shapeOf(bytes);
  int64_t perByte = 8 / bits;
  Type wide = c.builder.getI32Type();
  SymbolicShape apart = shape;
  apart.push_back(c.dim(1));
  Value numbers =
      c.map({c.cast(c.reshape(bytes, apart), wide), c.cast(positions(c, c.dim(perByte)), wide)},
            [&](ScalarMath &m, ValueRange x) {
              Value distance = m.mul(x[1], m.number(x[1], static_cast<double>(bits)));
              Value low = m.op<arith::ShRUIOp>(x[0], distance);
              return m.op<arith::AndIOp>(low, m.number(low, (1 << bits) - 1));
            });
  shape.back() = shape.back() * perByte;
  return c.reshape(numbers, shape);
}

namespace {
enum Input { input, weights, scales, zeroPoints, order, bias };
} // namespace

static void importMatMulNBits(NodeContext &c) {
  Value x = c.input(input, Accepts::Floats);
  int64_t depth = c.node.getInt("K", 0), columns = c.node.getInt("N", 0);
  int64_t bits = c.node.getInt("bits", 4), block = c.node.getInt("block_size", 0);
  constexpr int64_t kMax = int64_t(1) << 31; // keeps products of these numbers from overflowing
  auto isSize = [](int64_t size) { return size >= 1 && size < kMax; };
  if (!isSize(depth) || !isSize(columns) || !isSize(block) || (bits != 2 && bits != 4 && bits != 8))
    c.fail(ErrorKind::InvalidModel,
           "expected K, N and block_size from 1 to 2^31 and 2, 4 or 8 bits, got {0}, {1}, {2} and "
           "{3}",
           depth, columns, block, bits);
  if (c.has(order) || c.node.getInt("weight_prepacked", 0) != 0)
    c.fail(ErrorKind::Unsupported, "an order of rows and packed weights are not supported");
  int64_t blocks = llvm::divideCeil(depth, block), bytes = llvm::divideCeil(block * bits, 8);
  SymbolicShape perBlock{c.dim(columns), c.dim(blocks), c.dim(1)};
  Value packed = c.reshape(c.input(weights), {c.dim(columns), c.dim(blocks), c.dim(bytes)});
  Value scale = c.reshape(c.input(scales, Accepts::Floats), perBlock);
  Type type = elementTypeOf(x), inner = innerType(type);

  Value zero = c.scalar(1 << (bits - 1), inner);
  if (c.has(zeroPoints)) {
    Value given = c.input(zeroPoints);
    if (isPlainFloat(elementTypeOf(given))) {
      zero = c.cast(c.reshape(given, perBlock), inner);
    } else {
      // Each column's begin with a byte of their own.
      int64_t rowBytes = llvm::divideCeil(blocks * bits, 8);
      Value all = unpacked(c, c.reshape(given, {c.dim(columns), c.dim(rowBytes)}), bits);
      zero = c.cast(c.reshape(part(c, all, 1, c.dim(0), c.dim(blocks)), perBlock), inner);
    }
  }
  Value matrix = c.map({unpacked(c, packed, bits), scale, zero}, [&](ScalarMath &m, ValueRange v) {
    return m.mul(m.sub(m.convert(v[0], inner), v[2]), m.convert(v[1], inner));
  });
  matrix = c.reshape(matrix, {c.dim(columns), c.dim(blocks * block)});
  matrix = part(c, matrix, 1, c.dim(0), c.dim(depth));
  Value product = matrixProduct(c, c.cast(x, inner), c.transpose(matrix, {1, 0}));
  if (c.has(bias))
    product = add(c, product, c.cast(c.input(bias, Accepts::Floats), inner));
  c.result(c.cast(product, type));
}

OperatorFamily microsoftWeightOperators() {
  static const Operator table[] = {{"MatMulNBits", 1, importMatMulNBits}};
  return table;
}

} // namespace headrace::onnx
