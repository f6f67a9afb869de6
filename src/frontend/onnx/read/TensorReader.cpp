#include "frontend/onnx/read/TensorReader.h"

#include "frontend/onnx/read/EncodedTensor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace headrace::onnx {

static_assert(std::endian::native == std::endian::little, "ONNX data is used in place");

namespace {

/// The names of TensorProto.DataType, by code.
constexpr std::array<const char *, 17> typeNames = {
    "undefined", "float",  "uint8",     "int8",       "uint16",  "int16",
    "int32",     "int64",  "string",    "bool",       "float16", "double",
    "uint32",    "uint64", "complex64", "complex128", "bfloat16"};

/// Decodes one tensor; all its errors name it.
class TensorDecoder {
public:
  TensorDecoder(const EncodedTensor &encoded, const char *role, TensorSource &source)
      : encoded(encoded), role(role), source(source) {}

  Tensor decode();
  StringTensor decodeStrings();

private:
  [[noreturn]] void fail(ErrorKind kind, const std::string &what) const;
  DType checkedType() const;
  void readShape();
  Tensor decodeExternal();
  Tensor decodeRaw();
  Tensor decodeTyped();
  Tensor decodeElements();
  Tensor decodePacked();
  Tensor decodeFixed();
  Tensor decodeVarints();
  template <class T> Tensor decodeVarintsAs(int64_t lowest, uint64_t highest);
  void checkBools(const Tensor &) const;
  void checkCount(uint64_t found) const;
  uint64_t parseNumber(const std::string &key, const std::string &value) const;

  const EncodedTensor &encoded;
  const char *role;
  TensorSource &source;
  DType dtype = DType::F32; // of what is decoded, as are count and dims
  uint64_t count = 0;
  Shape dims;
};

} // namespace

std::optional<DType> dtypeOfCode(int32_t code) {
  switch (code) {
  case 1:
    return DType::F32;
  case 2:
    return DType::U8;
  case 3:
    return DType::I8;
  case 4:
    return DType::U16;
  case 5:
    return DType::I16;
  case 6:
    return DType::I32;
  case 7:
    return DType::I64;
  case 9:
    return DType::Bool;
  case 10:
    return DType::F16;
  case 11:
    return DType::F64;
  case 12:
    return DType::U32;
  case 13:
    return DType::U64;
  case 16:
    return DType::BF16;
  case 17:
    return DType::F8E4M3FN;
  case 18:
    return DType::F8E4M3FNUZ;
  case 19:
    return DType::F8E5M2;
  case 20:
    return DType::F8E5M2FNUZ;
  case 21:
    return DType::U4;
  case 22:
    return DType::I4;
  case 23:
    return DType::F4E2M1;
  case 24:
    return DType::F8E8M0;
  case 25:
    return DType::U2;
  case 26:
    return DType::I2;
  default:
    return std::nullopt;
  }
}

/// The TensorProto field that holds the elements of a type when raw_data does not.
static uint32_t typedFieldOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return wire::tensor::floatData;
  case DType::F64:
    return wire::tensor::doubleData;
  case DType::I64:
    return wire::tensor::int64Data;
  case DType::U32:
  case DType::U64:
    return wire::tensor::uint64Data;
  default:
    return wire::tensor::int32Data;
  }
}

void TensorDecoder::fail(ErrorKind kind, const std::string &what) const {
  std::string who = encoded.name.empty() ? std::string(role) + " without a name"
                                         : std::string(role) + " " + inQuotes(encoded.name);
  throw Error(kind, who + ": " + what);
}

void TensorDecoder::readShape() {
  if (encoded.hasSegment)
    fail(ErrorKind::Unsupported, "data split into segments is not supported");
  try {
    dims = encoded.dims;
    count = static_cast<uint64_t>(elementCount(dims));
  } catch (const Error &error) {
    fail(ErrorKind::InvalidModel, error.what());
  }
}

StringTensor TensorDecoder::decodeStrings() {
  readShape();
  checkCount(encoded.strings.size());
  StringTensor result{dims, {}};
  for (wire::Bytes text : encoded.strings) {
    if (!isUtf8(wire::text(text)))
      fail(ErrorKind::InvalidModel, "expected strings in UTF-8, got " + inQuotes(wire::text(text)));
    result.elements.emplace_back(wire::text(text));
  }
  return result;
}

Tensor TensorDecoder::decode() {
  dtype = checkedType();
  readShape();
  int stores = encoded.isExternal + !encoded.raw.empty() + (encoded.typedField != 0);
  if (stores > 1 || encoded.mixesTypedFields)
    fail(ErrorKind::InvalidModel, "expected its data in one field, got it in several");
  if (bitsInByte(dtype) != 0)
    return decodePacked();
  return decodeElements();
}

Tensor TensorDecoder::decodeElements() {
  Tensor tensor = encoded.isExternal        ? decodeExternal()
                  : encoded.typedField != 0 ? decodeTyped()
                                            : decodeRaw();
  if (dtype == DType::Bool)
    checkBools(tensor);
  return tensor;
}

/// Files hold 4-bit numbers and less several to a byte, the first in its lowest bits.
Tensor TensorDecoder::decodePacked() {
  int bits = bitsInByte(dtype);
  auto perByte = static_cast<uint64_t>(8 / bits);
  DType type = std::exchange(dtype, DType::U8);
  uint64_t elements = std::exchange(count, (count + perByte - 1) / perByte);
  dims = {static_cast<int64_t>(count)};
  Tensor packed = decodeElements();
  Tensor result = Tensor::allocate(type, encoded.dims);
  auto *out = result.as<uint8_t>();
  bool isSigned = storageOf(type) == DType::I8;
  for (uint64_t i = 0; i < elements; ++i) {
    auto shift = static_cast<int>(i % perByte) * bits;
    out[i] =
        lowBits(static_cast<uint8_t>(packed.as<uint8_t>()[i / perByte] >> shift), bits, isSigned);
  }
  return result;
}

DType TensorDecoder::checkedType() const {
  if (std::optional<DType> known = dtypeOfCode(encoded.typeCode))
    return *known;
  auto code = static_cast<size_t>(encoded.typeCode);
  if (code == 0)
    fail(ErrorKind::InvalidModel, "expected an element type, got none");
  std::string name =
      code < typeNames.size() ? typeNames[code] : "code " + std::to_string(encoded.typeCode);
  fail(ErrorKind::Unsupported, "element type " + name + " is not supported");
}

Tensor TensorDecoder::decodeExternal() {
  ExternalLocation location;
  for (const auto &[key, value] : encoded.externalEntries) {
    if (key == "location")
      location.file = value;
    else if (key == "offset")
      location.offset = parseNumber(key, value);
    else if (key == "length")
      location.length = parseNumber(key, value);
  }
  try {
    return source.external.read(location, dtype, dims);
  } catch (const Error &error) {
    fail(error.kind(), error.what());
  }
}

uint64_t TensorDecoder::parseNumber(const std::string &key, const std::string &value) const {
  uint64_t number = 0;
  const char *end = value.data() + value.size();
  auto [stop, failure] = std::from_chars(value.data(), end, number);
  if (failure != std::errc() || stop != end)
    fail(ErrorKind::InvalidModel,
         "expected a byte count as " + key + " of its external data, got " + inQuotes(value));
  return number;
}

Tensor TensorDecoder::decodeRaw() {
  if (encoded.raw.size() % sizeOf(dtype) != 0)
    fail(ErrorKind::InvalidModel, "expected raw data in elements of " +
                                      std::to_string(sizeOf(dtype)) + " bytes, got " +
                                      std::to_string(encoded.raw.size()) + " bytes");
  checkCount(encoded.raw.size() / sizeOf(dtype));
  return tensorOver(dtype, dims, encoded.raw.data(), source.owner);
}

Tensor TensorDecoder::decodeTyped() {
  if (encoded.typedField != typedFieldOf(dtype))
    fail(ErrorKind::InvalidModel,
         "its data is in a field for another element type than " + std::string(nameOf(dtype)));
  bool isFixed = dtype == DType::F32 || dtype == DType::F64;
  return isFixed ? decodeFixed() : decodeVarints();
}

Tensor TensorDecoder::decodeFixed() {
  uint64_t bytes = 0;
  for (wire::Bytes run : encoded.typedRuns) {
    if (run.size() % sizeOf(dtype) != 0)
      fail(ErrorKind::InvalidFile, "damaged: its data ends inside an element");
    bytes += run.size();
  }
  checkCount(bytes / sizeOf(dtype));
  // One packed run is laid out as raw data is.
  if (encoded.typedRuns.size() == 1)
    return tensorOver(dtype, dims, encoded.typedRuns[0].data(), source.owner);
  Tensor result = Tensor::allocate(dtype, dims);
  auto *next = static_cast<std::byte *>(result.data());
  for (wire::Bytes run : encoded.typedRuns) {
    std::memcpy(next, run.data(), run.size());
    next += run.size();
  }
  return result;
}

Tensor TensorDecoder::decodeVarints() {
  auto limited = [&]<class T>(T) {
    return decodeVarintsAs<T>(std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max());
  };
  switch (dtype) {
  case DType::Bool:
  case DType::U8:
  case DType::F8E4M3FN: // the bits
  case DType::F8E4M3FNUZ:
  case DType::F8E5M2:
  case DType::F8E5M2FNUZ:
  case DType::F8E8M0:
    return limited(uint8_t());
  case DType::I8:
    return limited(int8_t());
  case DType::I16:
    return limited(int16_t());
  case DType::U16:
  case DType::F16: // the bits
  case DType::BF16:
    return limited(uint16_t());
  case DType::I32:
    return limited(int32_t());
  case DType::U32:
    return limited(uint32_t());
  case DType::I64:
    return limited(int64_t());
  case DType::U64:
    return limited(uint64_t());
  default:
    throw InternalError("floats are not stored as varints");
  }
}

template <class T> Tensor TensorDecoder::decodeVarintsAs(int64_t lowest, uint64_t highest) {
  // A varint ends at its first byte without the high bit: counted before anything is allocated.
  uint64_t found = 0;
  for (wire::Bytes run : encoded.typedRuns)
    found += std::count_if(run.data(), run.data() + run.size(),
                           [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
  checkCount(found);
  Tensor result = Tensor::allocate(dtype, dims);
  auto *element = static_cast<T *>(result.data());
  for (wire::Bytes run : encoded.typedRuns) {
    const char *next = run.data();
    const char *end = next + run.size();
    while (next != end) {
      uint64_t bits = protozero::decode_varint(&next, end);
      if constexpr (sizeof(T) < sizeof(uint64_t)) {
        auto value = static_cast<int64_t>(bits);
        if (value < lowest || value > static_cast<int64_t>(highest))
          fail(ErrorKind::InvalidModel, "expected values of type " + std::string(nameOf(dtype)) +
                                            ", got " + std::to_string(value));
      }
      *element++ = static_cast<T>(bits);
    }
  }
  return result;
}

void TensorDecoder::checkBools(const Tensor &tensor) const {
  // Any other byte read as a bool is undefined behaviour.
  auto *values = static_cast<const uint8_t *>(tensor.data());
  for (uint64_t i = 0; i < count; ++i)
    if (values[i] > 1)
      fail(ErrorKind::InvalidModel,
           "expected values 0 or 1 of type bool, got " + std::to_string(values[i]));
}

void TensorDecoder::checkCount(uint64_t found) const {
  if (found != count)
    fail(ErrorKind::InvalidModel, "expected " + std::to_string(count) + " elements for shape " +
                                      shapeString(encoded.dims) + ", got data for " +
                                      std::to_string(found));
}

NamedTensor readTensor(wire::Bytes message, const char *role, TensorSource &source) {
  EncodedTensor encoded = readEncodedTensor(message);
  TensorDecoder decoder(encoded, role, source);
  if (encoded.typeCode == kStringCode) {
    auto strings = std::make_shared<const StringTensor>(decoder.decodeStrings());
    return {std::move(encoded.name), {}, std::move(strings)};
  }
  Tensor tensor = decoder.decode();
  return {std::move(encoded.name), std::move(tensor), nullptr};
}

} // namespace headrace::onnx
