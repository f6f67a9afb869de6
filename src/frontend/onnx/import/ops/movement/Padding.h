// Elements that are beyond a tensor's ends, taken from inside.
#pragma once

#include "frontend/onnx/import/NodeContext.h"

namespace headrace::onnx {

/// The tensor with pads on both sides of its axes: "edge" repeats the outermost element, "reflect"
/// mirrors at it, "wrap" starts again from the other end. Any other mode fills with the one element
/// of `value`.
mlir::Value padByReading(NodeContext &c, mlir::Value input, llvm::ArrayRef<int64_t> low,
                         llvm::ArrayRef<int64_t> high, llvm::StringRef mode, mlir::Value value);

} // namespace headrace::onnx
