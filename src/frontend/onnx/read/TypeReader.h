// TypeProto to ValueInfo, which has no name yet.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"
#include "frontend/onnx/read/Wire.h"

namespace headrace::onnx {

ValueInfo readType(wire::Bytes);

} // namespace headrace::onnx
