#include "frontend/onnx/read/ExternalData.h"

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

#include <algorithm>
#include <cstring>

namespace headrace::onnx {

namespace fs = std::filesystem;

bool isAlignedFor(DType dtype, const void *data) {
  return reinterpret_cast<uintptr_t>(data) % sizeOf(dtype) == 0;
}

Tensor tensorOver(DType dtype, const Shape &shape, const void *data,
                  std::shared_ptr<const void> owner) {
  constexpr size_t kLarge = 1 << 20;
  bool isLarge = static_cast<size_t>(elementCount(shape)) * sizeOf(dtype) >= kLarge;
  if (owner && elementCount(shape) != 0 && (isLarge || isAlignedFor(dtype, data)))
    return Tensor::borrow(dtype, shape, data, std::move(owner));
  Tensor copy = Tensor::allocate(dtype, shape);
  if (copy.bytes() != 0)
    std::memcpy(copy.data(), data, copy.bytes());
  return copy;
}

Tensor ExternalData::read(const ExternalLocation &location, DType dtype, const Shape &shape) {
  File &file = open(resolve(location.file));
  uint64_t size = file.mapping ? file.mapping->size() : 0;
  std::string name = "external data file " + inQuotes(location.file);
  if (location.offset > size || location.length.value_or(0) > size - location.offset)
    throw Error(ErrorKind::InvalidModel, name + ": expected at least " +
                                             std::to_string(location.length.value_or(0)) +
                                             " bytes from byte " + std::to_string(location.offset) +
                                             ", got a file of " + std::to_string(size) + " bytes");
  uint64_t length = location.length.value_or(size - location.offset);
  auto count = static_cast<uint64_t>(elementCount(shape));
  if (length % sizeOf(dtype) != 0 || length / sizeOf(dtype) != count)
    throw Error(ErrorKind::InvalidModel, name + ": expected " + std::to_string(count) +
                                             " elements of " + std::to_string(sizeOf(dtype)) +
                                             " bytes, got " + std::to_string(length) + " bytes");
  if (length == 0)
    return Tensor::allocate(dtype, shape);

  const std::byte *data = file.mapping->data() + location.offset;
  if (!isAlignedFor(dtype, data)) {
    // Many tensors may name the same bytes: what they copy together stays in proportion to the
    // file.
    file.bytesCopied += length;
    if (file.bytesCopied / 4 > size)
      throw Error(ErrorKind::InvalidModel, name + ": too many tensors share its unaligned bytes");
  }
  return tensorOver(dtype, shape, data, file.mapping);
}

fs::path ExternalData::resolve(const std::string &location) const {
  auto refuse = [&](ErrorKind kind, const std::string &why) -> Error {
    return Error(kind, "external data file " + inQuotes(location) + ": " + why);
  };
  if (folder.empty())
    throw refuse(ErrorKind::Unsupported,
                 "expected a model in a file, got one in memory, without a directory to look in");
  fs::path relative(location);
  if (location.empty() || location.find('\0') != std::string::npos || relative.is_absolute() ||
      std::find(relative.begin(), relative.end(), "..") != relative.end())
    throw refuse(ErrorKind::InvalidModel, "expected a path inside the model's directory");

  std::error_code failure;
  fs::path root = fs::canonical(folder, failure);
  if (failure)
    throw refuse(ErrorKind::Io, "cannot read the model's directory: " + failure.message());
  fs::path resolved = fs::canonical(root / relative, failure);
  if (failure)
    throw refuse(ErrorKind::Io, "cannot open it next to the model: " + failure.message());
  auto [rootRest, fileRest] =
      std::mismatch(root.begin(), root.end(), resolved.begin(), resolved.end());
  if (rootRest != root.end())
    throw refuse(ErrorKind::InvalidModel, "it leads outside the model's directory");
  // Opening a pipe or a device could block or worse.
  if (!fs::is_regular_file(resolved, failure))
    throw refuse(ErrorKind::InvalidModel, "expected a regular file");
  return resolved;
}

ExternalData::File &ExternalData::open(const fs::path &path) {
  auto [entry, isNew] = files.try_emplace(path);
  // An empty file cannot be mapped, yet serves tensors without elements.
  std::error_code failure;
  if (isNew && !fs::is_empty(path, failure))
    entry->second.mapping = MappedFile::open(path);
  return entry->second;
}

} // namespace headrace::onnx
