// Notes of the writer of an ONNX file, read without the model itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace headrace::onnx {

/// Empty if the file does not say.
struct FileNotes {
  std::string producer, domain, description;
  std::optional<int64_t> version;
  std::string graphName, graphDescription;
};

/// Throws Error if the file cannot be read.
FileNotes readNotes(const std::filesystem::path &path);
FileNotes readNotes(std::span<const std::byte> file);

} // namespace headrace::onnx
