// Exported PyTorch programs in, level 1 out: the graph that torch.export.save writes as JSON, and raw
// tensors. Nothing of the archive is executed or unpickled.
#pragma once

#include "frontend/graph/GraphBuilder.h"
#include "runtime/system/MappedFile.h"

namespace headrace::aten {

/// Whether it is named like an exported program.
bool isNamedLikeExported(const std::filesystem::path &path);

/// Writes the program of an archive; `name` is that of the file, for messages. Parameters, buffers and
/// constants become constants that may use the file's memory. Throws Error.
void importExported(const std::shared_ptr<const MappedFile> &file, const std::string &name,
                    graph::GraphBuilder &builder);

} // namespace headrace::aten
