#include "frontend/aten/exported/Weights.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace headrace::aten {

Weights::Weights(const Archive &archive, std::shared_ptr<const void> owner)
    : archive(archive), owner(std::move(owner)) {
  for (const char *directory : {"data/weights", "data/constants"})
    for (const std::string &path : archive.pathsBelow(directory))
      if (path.ends_with("_config.json"))
        addConfig(directory, path);
}

void Weights::addConfig(const std::string &directory, const std::string &file) {
  Bytes bytes = archive.file(file);
  const auto *text = reinterpret_cast<const char *>(bytes.data());
  Json config = Json::parse(text, text + bytes.size());
  for (const auto &[name, meta] : config.at("config").items())
    entries.emplace(name, Entry{directory, meta});
}

static Shape integersIn(const Json &list) {
  Shape found;
  for (const Json &each : list)
    found.push_back(each.at("as_int").get<int64_t>());
  return found;
}

/// The elements of a strided tensor in C order.
static Tensor gathered(DType type, const Shape &shape, const Shape &strides,
                       const std::byte *first) {
  Tensor result = Tensor::allocate(type, shape);
  auto *to = static_cast<std::byte *>(result.data());
  Shape index(shape.size(), 0);
  int64_t place = 0;
  for (int64_t i = 0; i < result.elements(); ++i) {
    std::memcpy(to + i * static_cast<int64_t>(sizeOf(type)),
                first + place * static_cast<int64_t>(sizeOf(type)), sizeOf(type));
    for (size_t axis = shape.size(); axis-- > 0;) {
      place += strides[axis];
      if (++index[axis] < shape[axis])
        break;
      place -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return result;
}

Tensor Weights::find(const std::string &name) const {
  auto found = entries.find(name);
  if (found == entries.end())
    archive.fail("expected a tensor '" + name + "' in the archive");
  const auto &[directory, payload] = found->second;
  std::string path = payload.at("path_name").get<std::string>();
  if (payload.at("use_pickle").get<bool>())
    archive.fail("expected raw tensors, but '" + name + "' is pickled ('" + directory + "/" + path +
                 "'), and pickled parts of an archive are not read");
  const Json &meta = payload.at("tensor_meta");
  DType type = elementType(meta.at("dtype").get<int64_t>());
  Shape shape = integersIn(meta.at("sizes")), strides = integersIn(meta.at("strides"));
  int64_t offset = meta.at("storage_offset").at("as_int").get<int64_t>();
  Bytes bytes = archive.file(directory + "/" + path);
  int64_t count = elementCount(shape), reach = offset, expected = 1;
  if (strides.size() != shape.size() || offset < 0)
    archive.fail("tensor '" + name + "': expected as many strides as dimensions");
  if (count == 0)
    return Tensor::allocate(type, shape);
  bool isContiguous = true;
  for (size_t axis = shape.size(); axis-- > 0;) {
    isContiguous &= shape[axis] == 1 || strides[axis] == expected;
    expected *= shape[axis];
    int64_t step = 0;
    bool tooFar = strides[axis] < 0 ||
                  __builtin_mul_overflow(shape[axis] - 1, strides[axis], &step) ||
                  __builtin_add_overflow(reach, step, &reach);
    if (tooFar)
      archive.fail("tensor '" + name + "' does not fit into its file");
  }
  auto available = static_cast<int64_t>(bytes.size() / sizeOf(type));
  if (reach >= available)
    archive.fail("tensor '" + name + "': expected " +
                 std::to_string(static_cast<uint64_t>(reach) + 1) + " elements in its file, got " +
                 std::to_string(available));
  // Strides of 0 repeat elements: a small file must not become a large tensor.
  constexpr int64_t maxRepeated = 1 << 24;
  if (count > std::max(available, maxRepeated))
    archive.fail("tensor '" + name + "': " + std::to_string(available) + " elements in its file, " +
                 "repeated to " + std::to_string(count));
  const std::byte *first = bytes.data() + offset * static_cast<int64_t>(sizeOf(type));
  bool isAligned = reinterpret_cast<uintptr_t>(first) % sizeOf(type) == 0;
  if (isContiguous && isAligned)
    return Tensor::borrow(type, shape, first, owner);
  return gathered(type, shape, strides, first);
}

} // namespace headrace::aten
