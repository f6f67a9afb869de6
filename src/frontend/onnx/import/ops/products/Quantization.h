// Integers that stand for floats: `float = (integer - zero point) * scale`.
#pragma once

#include "frontend/onnx/import/Operators.h"

namespace headrace::onnx {

/// F32 rounded to the nearest integer, ties to even, plus a zero point (null: none),
/// as the nearest number that the type holds.
mlir::Value quantized(ScalarMath &m, mlir::Value number, mlir::Value zeroPoint, mlir::Type type);

/// A tensor of bytes with the scale and zero point that its range gives.
struct DynamicallyQuantized {
  mlir::Value numbers, scale, zeroPoint;
};
DynamicallyQuantized dynamicallyQuantized(NodeContext &c, mlir::Value x);
/// The scale of unsigned bytes for values from `least` to `greatest`; the range is widened to
/// include 0.
mlir::Value scaleOfRange(ScalarMath &m, mlir::Value least, mlir::Value greatest);
mlir::Value zeroPointOfRange(ScalarMath &m, mlir::Value least, mlir::Value scale, mlir::Type byte);

/// A factor of bytes and its zero point, which is null if that is 0.
struct ByteFactor {
  mlir::Value tensor, zeroPoint;
};
/// The product of two inputs, matrices, in 32 bits, if it wraps.
mlir::Value integerProduct(NodeContext &c, size_t lhs, size_t rhs, size_t lhsZero, size_t rhsZero);
/// The product for one who goes on in floats: of f32 if 32 bits could wrap.
mlir::Value unwrappedProduct(NodeContext &c, size_t lhs, size_t rhs, size_t lhsZero,
                             size_t rhsZero);
/// The same; the right factor is input `rhs`, its zero point input `rhsZero`.
mlir::Value unwrappedProduct(NodeContext &c, ByteFactor lhs, size_t rhs, size_t rhsZero);

/// A recurrent layer with int8 weights.
void importDynamicQuantizeLstm(NodeContext &c);

void importQuantize(NodeContext &c);
void importDequantize(NodeContext &c);

/// MatMulInteger, ConvInteger, QLinearMatMul and QLinearConv.
void importMatMulInteger(NodeContext &c);
void importConvInteger(NodeContext &c);
void importQLinearMatMul(NodeContext &c);
void importQLinearConv(NodeContext &c);

} // namespace headrace::onnx
