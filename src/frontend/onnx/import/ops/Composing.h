// Short forms of what operators are made of that are compositions of others.
#pragma once

#include "frontend/onnx/import/Operators.h"

namespace headrace::onnx {

mlir::Type elementTypeOf(mlir::Value tensor);

/// The type to compose formulas in: f32 for 16-bit floats, so that only the result is rounded to
/// the narrow type; others as they are.
mlir::Type innerType(mlir::Type type);

// Element-wise, broadcast
mlir::Value add(NodeContext &c, mlir::Value a, mlir::Value b);
mlir::Value subtract(NodeContext &c, mlir::Value a, mlir::Value b);
mlir::Value multiply(NodeContext &c, mlir::Value a, mlir::Value b);
mlir::Value divide(NodeContext &c, mlir::Value a, mlir::Value b);
mlir::Value scaled(NodeContext &c, mlir::Value x, double factor);
mlir::Value select(NodeContext &c, mlir::Value condition, mlir::Value yes, mlir::Value no);

/// 0, 1, ... `size` - 1 as i64.
mlir::Value positions(NodeContext &c, mlir::AffineExpr size);

/// Every `step`-th slice along an axis, `size` of them from `start` on.
mlir::Value part(NodeContext &c, mlir::Value x, int64_t axis, mlir::AffineExpr start,
                 mlir::AffineExpr size, int64_t step = 1);
mlir::Value concat(NodeContext &c, mlir::ValueRange parts, int64_t axis);

/// The dimensions with one replaced.
SymbolicShape withDim(SymbolicShape shape, int64_t axis, mlir::AffineExpr size);

/// An attribute whose value must be one of a list, such as a mode.
std::string oneOf(NodeContext &c, const char *attribute, const char *otherwise,
                  llvm::ArrayRef<const char *> allowed);

/// The element type that an attribute names by ONNX's code; null if it is absent or 0.
mlir::Type typeAttribute(NodeContext &c, const char *attribute);

/// Input 1 of an operator of two tensors that broadcast. Before version 7 an attribute names the
/// axis of input 0 that its first dimension belongs to.
mlir::Value alignedOperand(NodeContext &c, Accepts accepts);

/// A tensor of i64, or of i32 made so.
mlir::Value indices(NodeContext &c, size_t input);

} // namespace headrace::onnx
