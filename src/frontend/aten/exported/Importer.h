// Exported PyTorch programs in, level 1 out: the graph that torch.export.save writes as JSON, and
// raw tensors. Nothing of the archive is executed or unpickled.
#pragma once

#include "frontend/graph/GraphBuilder.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace headrace::aten {

/// Whether it is named like an exported program.
bool isNamedLikeExported(const std::filesystem::path &path);

/// Whether the bytes are a zip archive, as such a file is.
bool isLikeExported(std::span<const std::byte> bytes);

/// A parameter or buffer that the program changes.
struct State {
  std::string name;
  DType type;
  Shape shape;
};

/// Writes the program of an archive; `name` is that of the file, for messages. Parameters, buffers
/// and constants become constants that may use the archive's memory, which `owner` keeps; those
/// named in `given` become inputs instead. A parameter, buffer or input NAME that the program
/// changes has its new value as an output, "new_NAME"; yields those that are not inputs of the
/// file. Throws Error.
std::vector<State> importExported(std::span<const std::byte> bytes,
                                  const std::shared_ptr<const void> &owner, const std::string &name,
                                  const std::vector<std::string> &given,
                                  graph::GraphBuilder &builder);

} // namespace headrace::aten
