// Nodes that read images where data says.
#pragma once

#include "frontend/onnx/import/Operators.h"

namespace headrace::onnx {

void importRoiAlign(NodeContext &c);
void importMaxRoiPool(NodeContext &c);
void importDeformConv(NodeContext &c);

} // namespace headrace::onnx
