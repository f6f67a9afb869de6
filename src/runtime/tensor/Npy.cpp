#include "runtime/tensor/Npy.h"

#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"
#include "runtime/system/MappedFile.h"
#include "runtime/tensor/NpyHeader.h"

#include <cstring>

namespace headrace {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
// Plain arrays need about a hundred bytes; only structured types, which we reject, need more.
constexpr size_t maxHeaderBytes = 64 * 1024;

[[noreturn]] void invalid(const std::string &file, const std::string &reason) {
  throw Error(ErrorKind::InvalidFile, file + ": " + reason);
}

// Splits the file after its preamble: the header's text, and where the elements begin.
std::pair<std::string_view, size_t> findHeader(std::string_view content, const std::string &file) {
  if (!content.starts_with(magic))
    invalid(file, "expected an npy file, which begins with \\x93NUMPY");
  if (content.size() < magic.size() + 4)
    invalid(file, "truncated in its preamble");
  auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(content[i])); };
  size_t major = byte(6);
  if (major < 1 || major > 3)
    invalid(file, "expected npy format 1, 2 or 3, got " + std::to_string(major));
  size_t start = major == 1 ? 10 : 12;
  if (content.size() < start)
    invalid(file, "truncated in its preamble");
  size_t length = byte(8) | byte(9) << 8;
  if (major > 1)
    length |= byte(10) << 16 | byte(11) << 24;
  if (length > maxHeaderBytes)
    invalid(file, "expected a header of at most " + std::to_string(maxHeaderBytes) +
                      " bytes, got " + std::to_string(length));
  if (content.size() - start < length)
    invalid(file, "truncated in its header: expected " + std::to_string(length) + " bytes, got " +
                      std::to_string(content.size() - start));
  return {content.substr(start, length), start + length};
}

// Fortran order keeps the first index fastest: walk the target in order, step through the source.
void copyFromFortranOrder(const std::byte *source, std::byte *target, const Shape &shape,
                          size_t elementBytes, int64_t count) {
  size_t rank = shape.size();
  std::vector<int64_t> stride(rank), index(rank);
  int64_t step = 1;
  for (size_t d = 0; d < rank; step *= shape[d++])
    stride[d] = step;
  int64_t position = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(target + i * elementBytes, source + position * elementBytes, elementBytes);
    for (size_t d = rank; d-- > 0;) {
      position += stride[d];
      if (++index[d] < shape[d])
        break;
      position -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
}

} // namespace

Tensor readNpy(const std::filesystem::path &path) {
  std::string file = path.string();
  std::shared_ptr<MappedFile> mapped = MappedFile::open(path, /*copyUpTo=*/SIZE_MAX);
  std::string_view content(reinterpret_cast<const char *>(mapped->data()), mapped->size());
  auto [headerText, start] = findHeader(content, file);
  NpyHeader header = parseNpyHeader(headerText, file);

  // The file must hold the elements before any more memory is asked for them.
  const std::byte *source = mapped->data() + start;
  size_t available = mapped->size() - start;
  Tensor stored = Tensor::borrow(header.dtype, header.shape, source, mapped);
  if (available < stored.bytes())
    invalid(file, "truncated: expected " + std::to_string(stored.bytes()) + " bytes for " +
                      std::string(nameOf(header.dtype)) + " " + shapeString(header.shape) +
                      ", got " + std::to_string(available));

  bool asItIs = !header.fortranOrder && header.dtype != DType::Bool &&
                reinterpret_cast<uintptr_t>(source) % sizeOf(header.dtype) == 0;
  if (asItIs)
    return stored; // it is the only copy

  Tensor tensor = Tensor::allocate(header.dtype, header.shape);
  auto *target = static_cast<std::byte *>(tensor.data());
  if (header.fortranOrder)
    copyFromFortranOrder(source, target, header.shape, sizeOf(header.dtype), tensor.elements());
  else
    std::memcpy(target, source, tensor.bytes());
  if (header.dtype == DType::Bool) // the file may hold any byte
    for (int64_t i = 0; i < tensor.elements(); ++i)
      target[i] = std::byte{target[i] != std::byte{0}};
  return tensor;
}

void writeNpy(const std::filesystem::path &path, const Tensor &tensor) {
  if (!tensor)
    throw InternalError("an absent tensor was written to " + path.string());
  std::string header = npyHeaderText(tensor.dtype(), tensor.shape());
  // Blanks up to a multiple of 64, as NumPy does, so that a mapped file has aligned elements.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string preamble(magic);
  preamble += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
               static_cast<char>(header.size() >> 8)};
  writeFileAtomically(path,
                      {std::as_bytes(std::span(preamble)), std::as_bytes(std::span(header)),
                       std::span(static_cast<const std::byte *>(tensor.data()), tensor.bytes())});
}

} // namespace headrace
