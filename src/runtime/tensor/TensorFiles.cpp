#include "runtime/tensor/TensorFiles.h"

#include <algorithm>

namespace headrace {

std::vector<std::shared_ptr<const MappedFile>> filesHolding(std::span<const Tensor> tensors) {
  std::vector<std::shared_ptr<const MappedFile>> files;
  for (const Tensor &tensor : tensors) {
    std::shared_ptr<const MappedFile> file =
        tensor.place().onHost() ? MappedFile::holding(tensor.data()) : nullptr;
    if (file && std::find(files.begin(), files.end(), file) == files.end())
      files.push_back(std::move(file));
  }
  return files;
}

} // namespace headrace
