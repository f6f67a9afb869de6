// The import of a node that may need more than is known: the error and the value are results.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"
#include "runtime/system/Error.h"

#include <optional>
#include <string>

namespace headrace::onnx {

struct ImportState;

/// Why a node was not imported: the error, and the value that it would have needed, if any.
struct Unimported {
  Error error;
  std::string needed;
};

/// Imports the node (Operators.h); nothing if that succeeds. A node that was not imported may have
/// left operators.
std::optional<Unimported> tryImportNode(const Node &node, ImportState &state);

} // namespace headrace::onnx
