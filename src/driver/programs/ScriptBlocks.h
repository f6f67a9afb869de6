// The parts of a script's blocks that would be compiled, as models, for tools that look at
// programs. No MLIR.
#pragma once

#include "driver/Model.h"

#include "script/host/Value.h"
#include <filesystem>
#include <map>

namespace headrace::script {

/// The state that a run starts from: `$name`s, variables, directories of function scripts.
struct RunInputs {
  std::map<std::string, std::string> arguments;
  std::map<std::string, Value> variables;
  std::vector<std::filesystem::path> scriptPath;
};

struct ScriptBlock {
  std::shared_ptr<Model> model;
  std::vector<std::optional<int64_t>> sizes; ///< of the model's symbols in that run
  int64_t runs = 0;                          ///< how often that run came by
};

/// Runs the script on the host; nothing is printed or written. Throws Error, also if no part of
/// it is one that would be compiled.
std::vector<ScriptBlock> blocksOf(const std::filesystem::path &path, const RunInputs &inputs);

} // namespace headrace::script
