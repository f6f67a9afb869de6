// Inputs and outputs of ONNX models as their files declare them.
#pragma once

#include "driver/Model.h"
#include "frontend/onnx/read/OnnxModel.h"

namespace headrace {

std::vector<ValueSpec> specsOf(const std::vector<onnx::ValueInfo> &values);

DeclaredValues declaredValues(const onnx::Graph &graph);

} // namespace headrace
