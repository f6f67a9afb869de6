// The compiled parts of a script's blocks as models, for tools that look at programs. No MLIR.
#pragma once

#include "driver/Model.h"

#include "script/host/Value.h"
#include <filesystem>
#include <map>

namespace headrace::script {

/// What a script's trial run starts from: `$name`s, variables, folders of function scripts.
struct TrialInputs {
  std::map<std::string, std::string> arguments;
  std::map<std::string, Value> variables;
  std::vector<std::string> outputs;
  std::vector<std::filesystem::path> scriptPath;
};

/// Runs the script on the host; nothing is printed or written. Throws Error, also where no part of
/// it is one that would be compiled.
std::vector<std::shared_ptr<Model>> blocksOf(const std::filesystem::path &path,
                                             const TrialInputs &inputs);

} // namespace headrace::script
