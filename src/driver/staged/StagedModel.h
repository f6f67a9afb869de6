// State that all graphs of a model that runs in stages share.
#pragma once

#include "driver/Settings.h"
#include "frontend/onnx/read/OnnxModel.h"

#include <atomic>

namespace headrace::staged {

struct StagedModel {
  std::string name; // for messages and reports
  onnx::Model file;
  int64_t opset = 0; // of the standard operators
  Settings settings;
};

/// How the programs of stages are run: compiled, or operator by operator in double precision, or
/// so with the rounding of their types.
enum class Evaluation { Compiled, Reference, Rounded };

/// The parameters of Model::roundedReference.
struct Rounding {
  uint64_t seed = 0;
  double scale = 1;
};

class StageProfile;

/// One run of a model.
struct Call {
  Evaluation how;
  /// How many more times bodies of loops may run: against loops without end.
  int64_t iterationsLeft;
  /// Who wants to know what its steps take; null: nobody.
  StageProfile *profile = nullptr;
  Rounding rounding = {};
};

} // namespace headrace::staged
