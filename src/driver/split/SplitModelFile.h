// State that all graphs of a model that is split into several programs share.
#pragma once

#include "driver/Settings.h"
#include "frontend/onnx/read/OnnxModel.h"

namespace headrace::split {

struct SplitModelFile {
  std::string name; // for messages and reports
  onnx::Model file;
  int64_t opset = 0; // of the standard operators
  Settings settings;
};

} // namespace headrace::split
