// A model's file as what it becomes: one program, or one that runs in stages.
#pragma once

#include "driver/programs/LevelOneProgram.h"

#include <optional>

namespace headrace {

namespace staged {
class StagedProgram;
}

struct ModelFile {
  std::optional<LevelOneProgram> program;
  std::shared_ptr<staged::StagedProgram> staged; // where it is no single program
};

/// Reads and imports a file. Throws Error.
ModelFile loadFile(const std::filesystem::path &path, const Settings &settings);

} // namespace headrace
