// A model's file as what it becomes: one program, or one that is split into several programs.
#pragma once

#include "driver/LevelOneProgram.h"
#include "driver/Model.h"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace headrace {

namespace onnx {
struct Model;
}

struct ModelFile {
  std::optional<LevelOneProgram> program;
  std::shared_ptr<split::SplitProgram> splitProgram; // if it needs several programs
  std::map<std::string, std::string> metadata;
  DeclaredValues declared;
  onnx::FileNotes notes;
};

/// If a model can be one program, but is faster split into several.
enum class Prefer { Speed, OneProgram };

/// Reads and imports a file. Throws Error.
ModelFile loadFile(const std::filesystem::path &path, const Settings &settings,
                   Prefer prefer = Prefer::Speed);
/// Reads and imports the bytes of an ONNX file without external data, or of an exported PyTorch
/// program. Throws Error.
ModelFile loadBytes(std::span<const std::byte> bytes, const std::string &name,
                    const Settings &settings);
/// Imports a file that was read already. Throws Error.
ModelFile programOf(onnx::Model file, const std::string &name, const Settings &settings,
                    Prefer prefer = Prefer::Speed);

} // namespace headrace
