// The operator Gradient of ai.onnx.preview.training.
#pragma once

#include "frontend/onnx/import/NodeContext.h"

namespace headrace::onnx {

void importGradient(NodeContext &c);

} // namespace headrace::onnx
