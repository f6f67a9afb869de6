// A model's file as what it becomes: one program, or one that runs in stages.
#pragma once

#include "driver/Model.h"
#include "driver/programs/LevelOneProgram.h"

#include <map>
#include <optional>

namespace headrace {

struct ModelFile {
  std::optional<LevelOneProgram> program;
  std::shared_ptr<staged::StagedProgram> staged; // where it is no single program
  std::map<std::string, std::string> metadata;
  DeclaredValues declared;
};

/// Reads and imports a file. Throws Error.
ModelFile loadFile(const std::filesystem::path &path, const Settings &settings);
/// The same of what was read already.
ModelFile programOf(onnx::Model file, const std::string &name, const Settings &settings);

} // namespace headrace
