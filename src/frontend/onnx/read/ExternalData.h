// Tensor data kept in files next to the model. A model can name any file, so only those inside the
// model's own directory are opened.
#pragma once

#include "runtime/system/MappedFile.h"
#include "runtime/tensor/Tensor.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace headrace::onnx {

/// Where a tensor's data lies, as the model states it.
struct ExternalLocation {
  std::string file;
  uint64_t offset = 0;
  std::optional<uint64_t> length; // none: to the end of the file
};

class ExternalData {
public:
  /// An empty directory means that there is none: every request is an Error.
  explicit ExternalData(std::filesystem::path folder) : folder(std::move(folder)) {}

  /// The tensor stored there, which must be exactly as long as its shape asks for. In place if
  /// it is aligned for its type. Errors do not name the tensor; the caller does.
  Tensor read(const ExternalLocation &, DType, const Shape &);

private:
  struct File {
    std::shared_ptr<MappedFile> mapping;
    uint64_t bytesCopied = 0;
  };

  std::filesystem::path resolve(const std::string &location) const;
  File &open(const std::filesystem::path &);

  std::filesystem::path folder;
  std::map<std::filesystem::path, File> files;
};

/// A tensor over bytes of exactly its size: in place if they have an owner and are aligned for
/// the type, else a copy. Large ones stay in place in any case, so that a file of weights is held
/// once; `constantTensor` copies what is not aligned when it is read.
Tensor tensorOver(DType, const Shape &, const void *data, std::shared_ptr<const void> owner);
bool isAlignedFor(DType, const void *data);

} // namespace headrace::onnx
