#include "TinyInputs.h"

namespace headrace {

namespace {

constexpr int64_t kLargestSize = 16, kMaxElements = 4096;

/// Dynamic dimensions are 1, 2 or 3, by their names.
int64_t sizeOf(const std::variant<int64_t, std::string> &size) {
  if (const auto *number = std::get_if<int64_t>(&size))
    return *number;
  const std::string &name = std::get<std::string>(size);
  return name.empty() ? 2 : 1 + static_cast<unsigned char>(name.back()) % 3;
}

std::optional<Shape> shapeOf(const ValueSpec &spec) {
  Shape shape;
  int64_t elements = 1;
  if (!spec.shape)
    return Shape{2};
  for (const auto &size : *spec.shape) {
    shape.push_back(sizeOf(size));
    if (shape.back() < 0 || shape.back() > kLargestSize ||
        (elements *= shape.back()) > kMaxElements)
      return std::nullopt;
  }
  return shape;
}

/// 0, 1, 2, 0, 1, 2, ...: of any type.
Tensor counting(DType type, const Shape &shape) {
  Tensor numbers = Tensor::allocate(DType::F64, shape);
  for (int64_t i = 0; i < numbers.elements(); ++i)
    numbers.as<double>()[i] = static_cast<double>(i % 3);
  return numbers.converted(type);
}

/// The "f32" in "sequence(f32)"; nothing if it is another type.
std::optional<std::string> inside(const std::string &type, const std::string &outer) {
  if (!type.starts_with(outer + "(") || !type.ends_with(")"))
    return std::nullopt;
  return type.substr(outer.size() + 1, type.size() - outer.size() - 2);
}

std::optional<RuntimeValue> tinyInput(const ValueSpec &spec) {
  if (auto element = inside(spec.type, "sequence")) {
    std::optional<RuntimeValue> value = tinyInput({spec.name, *element, spec.shape});
    if (!value)
      return std::nullopt;
    return RuntimeValue(std::vector<RuntimeValue>(2, *value));
  }
  if (auto element = inside(spec.type, "optional"))
    return tinyInput({spec.name, *element, spec.shape});
  if (auto pair = inside(spec.type, "map")) {
    size_t comma = pair->find(", ");
    if (comma == std::string::npos)
      return std::nullopt;
    auto keys = tinyInput({"keys", pair->substr(0, comma), {}});
    auto values = tinyInput({"values", pair->substr(comma + 2), {}});
    if (!keys || !values)
      return std::nullopt;
    return RuntimeValue(std::make_shared<const MapValue>(MapValue{*keys, *values}));
  }
  std::optional<Shape> shape = shapeOf(spec);
  if (!shape)
    return std::nullopt;
  if (spec.type == "string") {
    StringTensor strings{*shape, {}};
    for (int64_t i = 0; i < elementCount(*shape); ++i)
      strings.elements.push_back(i % 2 ? "b 1" : "a");
    return RuntimeValue(std::move(strings));
  }
  std::optional<DType> type = parseDType(spec.type);
  if (!type)
    return std::nullopt;
  return RuntimeValue(counting(*type, *shape));
}

} // namespace

std::optional<std::vector<RuntimeValue>> tinyInputs(const std::vector<ValueSpec> &specs) {
  std::vector<RuntimeValue> result;
  for (const ValueSpec &spec : specs) {
    std::optional<RuntimeValue> value = tinyInput(spec);
    if (!value)
      return std::nullopt;
    result.push_back(std::move(*value));
  }
  return result;
}

} // namespace headrace
