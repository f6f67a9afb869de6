// Integers that stand for floats: `float = (integer - zero point) * scale`.
#pragma once

#include "frontend/onnx/import/Operators.h"

namespace headrace::onnx {

/// Single precision rounded to the nearest integer, halves to even, plus a zero point (null: none),
/// as the nearest number that the type holds.
mlir::Value quantized(ScalarMath &m, mlir::Value number, mlir::Value zeroPoint, mlir::Type type);

/// MatMulInteger, ConvInteger, QLinearMatMul and QLinearConv.
void importMatMulInteger(NodeContext &c);
void importConvInteger(NodeContext &c);
void importQLinearMatMul(NodeContext &c);
void importQLinearConv(NodeContext &c);

} // namespace headrace::onnx
