// Writes ONNX files: the inverse of OnnxReader, of models whose functions are inlined.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace headrace::onnx {

struct WriteSettings {
  /// Most bytes of tensors inside the file, whose format ends at 2 GiB. If a model has more, all
  /// but its small tensors go into a file next to it, NAME.data.
  uint64_t maxBytesInside = uint64_t{1} << 30;
};

/// The model as one message, with all its tensors. A node of another version of its operator set
/// than the model's is an Error.
std::string encodedModel(const Model &model);

/// Writes the file so that a reader sees the old one or the whole new one. Throws Error.
void writeModel(const Model &model, const std::filesystem::path &path,
                const WriteSettings &settings = {});

} // namespace headrace::onnx
