#include "tensors/InputText.h"

#include "runtime/system/Error.h"
#include "runtime/tensor/Npy.h"

#include "commands/Commands.h"
#include "tensors/Element.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <limits>
#include <optional>

namespace headrace::cli {

namespace {

struct TensorType {
  DType dtype;
  Shape shape;
};

template <class Number> bool parseNumber(std::string_view text, Number &number) {
  const char *begin = text.data(), *end = begin + text.size();
  auto [stop, error] = std::from_chars(begin, end, number);
  return error == std::errc() && stop == end;
}

// The sizes of "2x3xf32", which the text then begins after; nullopt if one is not a size.
std::optional<Shape> parseSizes(std::string_view &text) {
  Shape shape;
  for (size_t cut = text.find('x'); cut != std::string_view::npos; cut = text.find('x')) {
    int64_t size = -1;
    if (!parseNumber(text.substr(0, cut), size) || size < 0)
      return std::nullopt;
    shape.push_back(size);
    text.remove_prefix(cut + 1);
  }
  return shape;
}

// "2x3xf32", or "f32" for a scalar.
std::optional<TensorType> parseType(std::string_view text) {
  std::optional<Shape> shape = parseSizes(text);
  std::optional<DType> dtype = shape ? parseDType(text) : std::nullopt;
  if (!dtype)
    return std::nullopt;
  return TensorType{*dtype, std::move(*shape)};
}

template <class Target> bool fits(auto value) { return std::in_range<Target>(value); }

// 64-bit values fit their own type; narrower types are checked.
bool fitsType(DType type, int64_t value) {
  switch (type) {
  case DType::Bool:
    return value == 0 || value == 1;
  case DType::I4:
    return value >= -8 && value <= 7;
  case DType::U4:
    return value >= 0 && value <= 15;
  case DType::I8:
    return fits<int8_t>(value);
  case DType::U8:
    return fits<uint8_t>(value);
  case DType::I16:
    return fits<int16_t>(value);
  case DType::U16:
    return fits<uint16_t>(value);
  case DType::I32:
    return fits<int32_t>(value);
  case DType::U32:
    return fits<uint32_t>(value);
  default:
    return true;
  }
}

[[noreturn]] void badValue(std::string_view option, std::string_view value, DType type) {
  throw UsageError(fmt::format("--input {}: expected a number of type {}, got '{}'", option,
                               nameOf(type), value));
}

template <class Wide> class ValueParser {
public:
  ValueParser(DType type, std::string_view option) : type(type), option(option) {}

  Wide operator()(std::string_view text) const {
    Wide value = 0;
    if (type == DType::Bool && (text == "true" || text == "false"))
      return static_cast<Wide>(text == "true");
    if (!parseNumber(text, value))
      badValue(option, text, type);
    if constexpr (std::is_same_v<Wide, int64_t>)
      if (!fitsType(type, value))
        badValue(option, text, type);
    return value;
  }

private:
  DType type;
  std::string_view option;
};

// Reads the values in the widest type of their family, then rounds them to the one asked for.
template <class Wide>
Tensor parseValues(const TensorType &type, DType wideType, std::string_view values,
                   std::string_view option) {
  ValueParser<Wide> parse(type.dtype, option);
  int64_t count = elementCount(type.shape);
  int64_t given = values.empty() ? 0 : 1 + std::count(values.begin(), values.end(), ',');
  if (given != 1 && given != count)
    throw Error(ErrorKind::ShapeMismatch,
                fmt::format("--input {}: expected 1 value or {} for shape {}, got {}", option,
                            count, shapeString(type.shape), given));
  if (given == 1) {
    Tensor one = Tensor::allocate(wideType, {});
    *one.as<Wide>() = parse(values);
    one = one.converted(type.dtype);
    Tensor filled = Tensor::allocate(type.dtype, type.shape);
    const auto *element = static_cast<const std::byte *>(std::as_const(one).data());
    auto *target = static_cast<std::byte *>(filled.data());
    for (int64_t i = 0; i < count; ++i, target += sizeOf(type.dtype))
      std::copy_n(element, sizeOf(type.dtype), target);
    return filled;
  }
  Tensor wide = Tensor::allocate(wideType, type.shape);
  for (int64_t i = 0; i < count; ++i) {
    size_t cut = std::min(values.find(','), values.size());
    wide.as<Wide>()[i] = parse(values.substr(0, cut));
    values.remove_prefix(std::min(cut + 1, values.size()));
  }
  return wide.converted(type.dtype);
}

} // namespace

// The sizes of "2xstring".
static std::optional<Shape> parseStringType(std::string_view text) {
  std::optional<Shape> shape = parseSizes(text);
  return text == "string" ? shape : std::nullopt;
}

bool looksLikeTensor(std::string_view text) {
  size_t equals = text.find('=');
  return text.starts_with('@') ||
         (equals != std::string_view::npos &&
          (parseType(text.substr(0, equals)) || parseStringType(text.substr(0, equals))));
}

RuntimeValue parseValue(std::string_view text, std::string_view option) {
  size_t equals = text.find('=');
  std::optional<Shape> shape;
  if (equals != std::string_view::npos)
    shape = parseStringType(text.substr(0, equals));
  if (!shape)
    return parseTensor(text, option);
  StringTensor result{*shape, {}};
  std::string_view rest = text.substr(equals + 1);
  auto count = static_cast<size_t>(elementCount(*shape));
  // A comma is text if there is one string.
  for (size_t cut = rest.find(','); count > 1 && cut != rest.npos; cut = rest.find(',')) {
    result.elements.emplace_back(rest.substr(0, cut));
    rest.remove_prefix(cut + 1);
  }
  if (count > 0 || !rest.empty())
    result.elements.emplace_back(rest);
  if (result.elements.size() != count)
    throw Error(ErrorKind::ShapeMismatch,
                fmt::format("--input {}: expected {} strings for shape {}, got {}", option, count,
                            shapeString(*shape), result.elements.size()));
  return result;
}

Tensor parseTensor(std::string_view text, std::string_view option) {
  if (text.starts_with('@') && text.size() > 1)
    return readNpy(std::string(text.substr(1)));
  size_t equals = text.find('=');
  std::optional<TensorType> type;
  if (equals != std::string_view::npos)
    type = parseType(text.substr(0, equals));
  if (!type)
    throw UsageError(fmt::format(
        "--input {}: expected [NAME=]@FILE.npy or [NAME=]TYPE=VALUES, as in image=1x3xf32=0.5",
        option));
  std::string_view values = text.substr(equals + 1);
  if (isFloat(type->dtype))
    return parseValues<double>(*type, DType::F64, values, option);
  if (type->dtype == DType::U64)
    return parseValues<uint64_t>(*type, DType::U64, values, option);
  return parseValues<int64_t>(*type, DType::I64, values, option);
}

} // namespace headrace::cli
