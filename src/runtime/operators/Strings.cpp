// Operators on tensors of strings.
#include "runtime/operators/Characters.h"
#include "runtime/operators/HostOperators.h"
#include "runtime/operators/RegularExpression.h"
#include "runtime/operators/TensorParts.h"
#include "runtime/system/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace headrace::operators {

using Values = std::vector<RuntimeValue>;

//===--------------------------------------------------------------------------===//
// Element by element
//===--------------------------------------------------------------------------===//

namespace {

/// Two tensors of strings seen under one shape, to which both are broadcast.
struct Pairs {
  Shape shape;
  std::vector<std::pair<int64_t, int64_t>> elements;

  Pairs(HostCall &c, const Shape &a, const Shape &b) {
    size_t rank = std::max(a.size(), b.size());
    auto sizeAt = [&](const Shape &from, size_t i) {
      return i + from.size() < rank ? 1 : from[i + from.size() - rank];
    };
    for (size_t i = 0; i < rank; ++i) {
      int64_t x = sizeAt(a, i), y = sizeAt(b, i);
      if (x != y && x != 1 && y != 1)
        c.fail(ErrorKind::ShapeMismatch, "expected shapes that can be broadcast, got " +
                                             shapeString(a) + " and " + shapeString(b));
      shape.push_back(x == 1 ? y : x);
    }
    int64_t count = elementCount(shape);
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, x = 0, y = 0, strideX = 1, strideY = 1;
      for (size_t d = rank; d-- > 0; rest /= shape[d]) {
        int64_t at = rest % shape[d], sizeX = sizeAt(a, d), sizeY = sizeAt(b, d);
        x += sizeX == 1 ? 0 : at * strideX;
        y += sizeY == 1 ? 0 : at * strideY;
        strideX *= sizeX;
        strideY *= sizeY;
      }
      elements.emplace_back(x, y);
    }
  }
};

} // namespace

static Values stringConcat(HostCall &c) {
  const StringTensor &a = c.strings(0), &b = c.strings(1);
  Pairs pairs(c, a.shape, b.shape);
  StringTensor result{pairs.shape, {}};
  for (auto [x, y] : pairs.elements)
    result.elements.push_back(a.elements[x] + b.elements[y]);
  return {result};
}

static Tensor booleans(const Shape &shape) { return Tensor::allocate(DType::Bool, shape); }

static Values equal(HostCall &c) {
  const StringTensor &a = c.strings(0), &b = c.strings(1);
  Pairs pairs(c, a.shape, b.shape);
  Tensor result = booleans(pairs.shape);
  bool *next = result.as<bool>();
  for (auto [x, y] : pairs.elements)
    *next++ = a.elements[x] == b.elements[y];
  return {result};
}

static Values regexFullMatch(HostCall &c) {
  auto expression = c.prepared.get<RegularExpression>([&] {
    try {
      return RegularExpression(c.node.getString("pattern", ""));
    } catch (const Error &error) {
      c.fail(error.kind(), std::string("attribute 'pattern': ") + error.what());
    }
  });
  const StringTensor &texts = c.strings(0);
  Tensor result = booleans(texts.shape);
  bool *next = result.as<bool>();
  RegexMatcher matcher(*expression);
  for (const std::string &text : texts.elements)
    *next++ = matcher.matches(toCharacters(text));
  return {result};
}

//===--------------------------------------------------------------------------===//
// Between numbers and strings
//===--------------------------------------------------------------------------===//

static std::string numberText(double number, bool isSingle) {
  if (std::isnan(number))
    return "NaN";
  if (std::isinf(number))
    return number > 0 ? "INF" : "-INF";
  char text[64];
  auto written = isSingle ? std::to_chars(text, std::end(text), static_cast<float>(number))
                          : std::to_chars(text, std::end(text), number);
  return {text, written.ptr};
}

static StringTensor textsOf(const Tensor &tensor) {
  StringTensor result{tensor.shape(), {}};
  DType dtype = tensor.dtype();
  if (dtype >= DType::F16 && dtype < DType::I4) {
    Tensor wide = tensor.converted(DType::F64);
    for (int64_t i = 0; i < wide.elements(); ++i)
      result.elements.push_back(
          numberText(std::as_const(wide).as<double>()[i], dtype != DType::F64));
  } else if (dtype == DType::U64) {
    for (int64_t i = 0; i < tensor.elements(); ++i)
      result.elements.push_back(std::to_string(tensor.as<uint64_t>()[i]));
  } else {
    Tensor wide = tensor.converted(DType::I64);
    for (int64_t i = 0; i < wide.elements(); ++i)
      result.elements.push_back(std::to_string(std::as_const(wide).as<int64_t>()[i]));
  }
  return result;
}

template <class Number> static bool parse(std::string_view text, Number &number) {
  if (text.starts_with('+'))
    text.remove_prefix(1);
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size();
}

static Tensor numbersOf(HostCall &c, const StringTensor &texts, DType dtype) {
  bool isFloating = dtype >= DType::F16 && dtype < DType::I4;
  Tensor wide = Tensor::allocate(isFloating ? DType::F64 : DType::I64, texts.shape);
  for (size_t i = 0; i < texts.elements.size(); ++i) {
    const std::string &text = texts.elements[i];
    double number = 0;
    bool isNumber = isFloating ? parse(text, number) : parse(text, wide.as<int64_t>()[i]);
    if (isFloating)
      wide.as<double>()[i] = number;
    else if (!isNumber && parse(text, number)) {
      isNumber = std::abs(number) < 0x1p62;
      wide.as<int64_t>()[i] = isNumber ? static_cast<int64_t>(number) : 0;
    }
    if (!isNumber)
      c.fail(ErrorKind::InvalidArgument,
             c.nameOfInput(0) + ": expected numeric values, got " + inQuotes(text));
  }
  return wide.converted(dtype);
}

/// To the type that the attribute `to` names as nameOf does, or "string".
static Values cast(HostCall &c) {
  std::string to = c.node.getString("to", "");
  if (to == "string")
    return {c.input(0).strings() ? c.input(0) : RuntimeValue(textsOf(c.tensor(0)))};
  std::optional<DType> dtype = parseDType(to);
  if (!dtype)
    c.fail(ErrorKind::Unsupported, "element type " + inQuotes(to) + " is not supported");
  return {numbersOf(c, c.strings(0), *dtype)};
}

/// To the type of the second input.
static Values castLike(HostCall &c) {
  if (c.input(1).strings())
    return {c.input(0).strings() ? c.input(0) : RuntimeValue(textsOf(c.tensor(0)))};
  return {numbersOf(c, c.strings(0), c.tensor(1).dtype())};
}

static Values constant(HostCall &c) {
  if (const auto *value = c.node.get<RuntimeValue>("value"))
    return {*value};
  if (c.node.find("value_string"))
    return {StringTensor{{}, {c.node.getString("value_string", "")}}};
  if (!c.node.find("value_strings"))
    c.fail(ErrorKind::InvalidModel, "expected strings as its value");
  std::vector<std::string> list = c.node.getStrings("value_strings");
  return {StringTensor{{static_cast<int64_t>(list.size())}, list}};
}

//===--------------------------------------------------------------------------===//
// Words
//===--------------------------------------------------------------------------===//

static Values stringSplit(HostCall &c) {
  const StringTensor &texts = c.strings(0);
  std::string delimiter = c.node.getString("delimiter", "");
  int64_t most = c.node.getInt("maxsplit", -1);
  std::vector<std::vector<std::string>> parts;
  size_t longest = 0;
  for (const std::string &text : texts.elements) {
    parts.push_back(split(text, delimiter, most));
    longest = std::max(longest, parts.back().size());
  }
  StringTensor result{texts.shape, {}};
  result.shape.push_back(static_cast<int64_t>(longest));
  std::vector<int64_t> counts;
  for (std::vector<std::string> &row : parts) {
    counts.push_back(static_cast<int64_t>(row.size()));
    row.resize(longest);
    std::move(row.begin(), row.end(), std::back_inserter(result.elements));
  }
  return {result, tensorOf(counts).reshaped(texts.shape)};
}

static Values stringNormalizer(HostCall &c) {
  const StringTensor &texts = c.strings(0);
  size_t rank = texts.shape.size();
  if (rank != 1 && !(rank == 2 && texts.shape[0] == 1))
    c.fail(ErrorKind::ShapeMismatch,
           c.nameOfInput(0) + ": expected a list, or 1 x a list, got " + shapeString(texts.shape));
  std::string action = c.node.getString("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER")
    c.fail(ErrorKind::InvalidModel,
           "attribute 'case_change_action': expected NONE, LOWER or UPPER, "
           "got " +
               inQuotes(action));
  bool isSensitive = c.node.getInt("is_case_sensitive", 0) != 0;
  auto key = [&](const std::string &word) {
    return isSensitive ? word : withCase(word, Case::Lower);
  };
  std::set<std::string> stopped;
  for (const std::string &word : c.node.getStrings("stopwords"))
    stopped.insert(key(word));
  StringTensor result;
  for (const std::string &word : texts.elements)
    if (!stopped.contains(key(word)))
      result.elements.push_back(
          action == "NONE" ? word : withCase(word, action == "LOWER" ? Case::Lower : Case::Upper));
  if (result.elements.empty())
    result.elements.emplace_back();
  result.shape = rank == 1 ? Shape{} : Shape{1};
  result.shape.push_back(static_cast<int64_t>(result.elements.size()));
  return {result};
}

//===--------------------------------------------------------------------------===//
// Movement
//===--------------------------------------------------------------------------===//

static Values shape(HostCall &c) {
  const Shape &dims = c.strings(0).shape;
  auto rank = static_cast<int64_t>(dims.size());
  auto bound = [&](const char *attribute, int64_t otherwise) {
    int64_t at = c.node.getInt(attribute, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  int64_t start = bound("start", 0), end = std::max(bound("end", rank), start);
  return {tensorOf({dims.begin() + start, dims.begin() + end})};
}

static Values size(HostCall &c) {
  return {scalarOf(static_cast<int64_t>(c.strings(0).elements.size()))};
}

static Values concat(HostCall &c) {
  Values parts;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    c.strings(i);
    parts.push_back(c.input(i));
  }
  int64_t axis = c.axis(c.node.getInt("axis", 0), static_cast<int64_t>(c.strings(0).shape.size()));
  std::optional<RuntimeValue> joined = concatenate(parts, axis);
  if (!joined)
    c.fail(ErrorKind::ShapeMismatch, "expected equal sizes but along axis " + std::to_string(axis));
  return {*joined};
}

static Values gather(HostCall &c) {
  const Shape &dims = c.strings(0).shape;
  int64_t axis = c.axis(c.node.getInt("axis", 0), static_cast<int64_t>(dims.size()));
  std::vector<int64_t> positions = c.integers(1);
  for (int64_t &position : positions) {
    if (position < -dims[axis] || position >= dims[axis])
      c.fail(ErrorKind::OutOfRange, c.nameOfInput(1) + ": index " + std::to_string(position) +
                                        " is outside a size of " + std::to_string(dims[axis]));
    position += position < 0 ? dims[axis] : 0;
  }
  Shape result(dims.begin(), dims.begin() + axis);
  const Shape &inserted = c.tensor(1).shape();
  result.insert(result.end(), inserted.begin(), inserted.end());
  result.insert(result.end(), dims.begin() + axis + 1, dims.end());
  return {reshaped(take(c.input(0), axis, positions), result)};
}

HostFamily stringOperators() {
  static const HostOperator table[] = {
      {"", "StringConcat", 20, stringConcat},
      {"", "StringSplit", 20, stringSplit},
      {"", "StringNormalizer", 10, stringNormalizer},
      {"", "RegexFullMatch", 20, regexFullMatch},
      {"", "Equal", 1, equal},
      {"", "Cast", 6, cast},
      {"", "CastLike", 15, castLike},
      {"", "Constant", 1, constant},
      {"", "Shape", 1, shape},
      {"", "Size", 1, size},
      {"", "Concat", 4, concat},
      {"", "Gather", 1, gather},
  };
  return table;
}

} // namespace headrace::operators
