// Elements picked along an axis, for operators that find out which.
#pragma once

#include "frontend/common/OperatorBuilder.h"

namespace headrace::onnx {

/// The element of `data` along `axis` that each index names, of the indices' shape; negative ones
/// count from the end.
mlir::Value gatherElements(OperatorBuilder &b, mlir::Value data, mlir::Value indices, int64_t axis);

} // namespace headrace::onnx
