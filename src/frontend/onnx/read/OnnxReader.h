// Reads ONNX files. Weights aligned for their type are used in place and keep the file mapped; the
// format does not align them, so the others are copied. Anything wrong with a file is an Error that
// names it; a file cannot read outside its directory, nest without bound or allocate out of
// proportion to its size.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace headrace::onnx {

Model readModel(const std::filesystem::path &);

/// A model in memory that `owner` keeps alive. External data is looked for in `folder`; if it is
/// empty, a model with external data is an Error.
Model readModel(std::span<const std::byte>, std::shared_ptr<const void> owner,
                const std::filesystem::path &folder, const std::string &nameForErrors);

} // namespace headrace::onnx
