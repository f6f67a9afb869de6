#include "frontend/onnx/write/TensorWriter.h"

#include "frontend/onnx/read/TensorReader.h"
#include "runtime/system/Error.h"

namespace headrace::onnx {

/// Readers may map the file, and read numbers where they are.
static constexpr uint64_t kAlignment = 64;
/// TensorProto.DataLocation of data in another file.
static constexpr int32_t kExternal = 1;

uint64_t DataFile::append(std::string_view bytes) {
  uint64_t begin = (end + kAlignment - 1) / kAlignment * kAlignment;
  file.write(std::string(begin - end, '\0'));
  file.write(bytes);
  end = begin + bytes.size();
  return begin;
}

int32_t codeOf(DType type) {
  for (int32_t code = 1; code < 64; ++code)
    if (dtypeOfCode(code) == type)
      return code;
  throw InternalError("a type without a code in ONNX");
}

/// The elements as the format stores them: several to a byte if they have 4 bits or less.
static std::string packed(const Tensor &tensor, int bits) {
  auto count = static_cast<size_t>(tensor.elements());
  const auto *bytes = static_cast<const uint8_t *>(tensor.data());
  size_t inByte = 8 / static_cast<size_t>(bits);
  std::string result((count + inByte - 1) / inByte, '\0');
  for (size_t i = 0; i < count; ++i) {
    unsigned low = bytes[i] & ((1u << bits) - 1);
    unsigned shifted = low << (static_cast<unsigned>(bits) * (i % inByte));
    result[i / inByte] = static_cast<char>(static_cast<uint8_t>(result[i / inByte]) | shifted);
  }
  return result;
}

static void writeDims(protozero::pbf_writer &message, const Shape &shape) {
  message.add_packed_int64(wire::tensor::dims, shape.begin(), shape.end());
}

static void writeEntry(protozero::pbf_writer &message, const std::string &key,
                       const std::string &value) {
  protozero::pbf_writer entry(message, wire::tensor::externalData);
  entry.add_string(wire::entry::key, key);
  entry.add_string(wire::entry::value, value);
}

void writeTensor(protozero::pbf_writer message, const std::string &name, const Tensor &tensor,
                 DataFile *data) {
  writeDims(message, tensor.shape());
  message.add_int32(wire::tensor::dataType, codeOf(tensor.dtype()));
  if (!name.empty())
    message.add_string(wire::tensor::name, name);
  std::string storage;
  std::string_view bytes(static_cast<const char *>(tensor.data()), tensor.bytes());
  if (int bits = bitsInByte(tensor.dtype()))
    bytes = storage = packed(tensor, bits);
  if (!data) {
    message.add_bytes(wire::tensor::rawData, bytes.data(), bytes.size());
    return;
  }
  writeEntry(message, "location", data->location());
  writeEntry(message, "offset", std::to_string(data->append(bytes)));
  writeEntry(message, "length", std::to_string(bytes.size()));
  message.add_enum(wire::tensor::dataLocation, kExternal);
}

void writeStrings(protozero::pbf_writer message, const std::string &name,
                  const StringTensor &strings) {
  writeDims(message, strings.shape);
  message.add_int32(wire::tensor::dataType, kStringCode);
  if (!name.empty())
    message.add_string(wire::tensor::name, name);
  for (const std::string &element : strings.elements)
    message.add_bytes(wire::tensor::stringData, element);
}

} // namespace headrace::onnx
