#include "frontend/onnx/import/TryImport.h"

#include "frontend/onnx/import/Operators.h"
#include "runtime/system/AvailableMemory.h"

namespace headrace::onnx {

/// The last value that was asked for is the one that the import did not go on without.
std::optional<Unimported> tryImportNode(const Node &node, ImportState &state) {
  try {
    importNode(node, state);
    return std::nullopt;
  } catch (const OutOfMemory &) {
    throw; // says nothing about the node
  } catch (const Error &error) {
    return Unimported{error, state.unknown.empty() ? "" : state.unknown.back()};
  }
}

} // namespace headrace::onnx
