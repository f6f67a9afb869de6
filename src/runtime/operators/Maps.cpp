// Maps of ai.onnx.ml, as tensors and made of them, and strings as categories.
#include "runtime/operators/HostOperators.h"
#include "runtime/operators/TensorParts.h"
#include "runtime/system/Text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

namespace headrace::operators {

using Values = std::vector<RuntimeValue>;

/// Against attributes that ask for more memory than there is.
static constexpr int64_t kMaxElements = int64_t(1) << 28;

static const MapValue &mapOf(HostCall &c, size_t i) {
  const MapValue *found = c.input(i).map();
  if (!found)
    c.fail(ErrorKind::TypeMismatch,
           c.nameOfInput(i) + ": expected a map, got " + describe(c.input(i)));
  return *found;
}

static Tensor listOf(const std::vector<int64_t> &numbers) { return tensorOf(numbers); }

static StringTensor listOf(std::vector<std::string> strings) {
  auto count = static_cast<int64_t>(strings.size());
  return {{count}, std::move(strings)};
}

/// The list of one of two attributes, of strings or of integers.
static RuntimeValue names(HostCall &c, const char *strings, const char *integers) {
  if (std::vector<std::string> found = c.node.getStrings(strings); !found.empty())
    return listOf(std::move(found));
  if (std::vector<int64_t> found = c.node.getInts(integers); !found.empty())
    return listOf(found);
  c.fail(ErrorKind::InvalidModel,
         std::string("expected an attribute ") + strings + " or " + integers + ", got neither");
}

/// A map of labels and scores for each row; a list is one row.
static Values zipMap(HostCall &c) {
  RuntimeValue keys = names(c, "classlabels_strings", "classlabels_int64s");
  int64_t count = (*shapeOf(keys))[0];
  Tensor scores = c.tensor(0);
  if (scores.dtype() != DType::F32)
    c.fail(ErrorKind::TypeMismatch,
           c.nameOfInput(0) + ": expected f32, got " + describe(c.input(0)));
  if (scores.shape().size() == 1)
    scores = scores.reshaped({1, scores.shape()[0]});
  if (scores.shape().size() != 2 || scores.shape()[1] != count)
    c.fail(ErrorKind::ShapeMismatch, c.nameOfInput(0) + ": expected rows of " +
                                         std::to_string(count) + ", got " + describe(c.input(0)));
  Values maps;
  const auto *data = std::as_const(scores).as<float>();
  for (int64_t i = 0; i < scores.shape()[0]; ++i) {
    // All maps share the memory of the scores.
    Tensor row = Tensor::borrow(DType::F32, {count}, data + i * count, scores.owner());
    maps.emplace_back(std::make_shared<const MapValue>(MapValue{keys, row}));
  }
  return {RuntimeValue(std::move(maps))};
}

/// Where each key of a list is, as text or as a number.
template <class Key> static std::map<Key, int64_t> positionsOf(const std::vector<Key> &keys) {
  std::map<Key, int64_t> positions;
  for (size_t i = 0; i < keys.size(); ++i)
    positions.emplace(keys[i], static_cast<int64_t>(i));
  return positions;
}

static std::vector<int64_t> integersOf(const RuntimeValue &list) {
  const Tensor &tensor = *list.tensor();
  return {tensor.as<int64_t>(), tensor.as<int64_t>() + tensor.elements()};
}

/// For each word of the vocabulary the position of its key; -1 for one that the map lacks.
static std::vector<int64_t> keyPositions(const RuntimeValue &vocabulary, const RuntimeValue &keys) {
  std::vector<int64_t> result;
  auto look = [&](const auto &words, const auto &positions) {
    for (const auto &word : words) {
      auto found = positions.find(word);
      result.push_back(found == positions.end() ? -1 : found->second);
    }
  };
  if (vocabulary.strings())
    look(vocabulary.strings()->elements, positionsOf(keys.strings()->elements));
  else
    look(integersOf(vocabulary), positionsOf(integersOf(keys)));
  return result;
}

/// One row: the values of the vocabulary's words, nothing for those that the map lacks.
static Values dictVectorizer(HostCall &c) {
  RuntimeValue vocabulary = names(c, "string_vocabulary", "int64_vocabulary");
  const MapValue &map = mapOf(c, 0);
  if (vocabulary.kind() != map.keys.kind())
    c.fail(ErrorKind::TypeMismatch,
           c.nameOfInput(0) + ": expected keys as in the vocabulary, got others");
  // The nothing of each type follows the values.
  RuntimeValue nothing;
  if (map.values.strings()) {
    nothing = listOf(std::vector<std::string>{""});
  } else {
    nothing = listOf(std::vector<int64_t>{0}).converted(map.values.tensor()->dtype());
  }
  RuntimeValue choices = *concatenate({map.values, nothing}, 0);
  std::vector<int64_t> places = keyPositions(vocabulary, map.keys);
  int64_t count = (*shapeOf(map.keys))[0];
  std::replace(places.begin(), places.end(), int64_t(-1), count);
  return {withAxis(take(choices, 0, places), 0)};
}

//===--------------------------------------------------------------------------===//
// CastMap
//===--------------------------------------------------------------------------===//

static double numberOf(HostCall &c, const std::string &text) {
  double number = 0;
  std::string_view rest(text);
  auto isSpace = [](char letter) { return letter == ' ' || letter == '\t' || letter == '\n'; };
  while (!rest.empty() && isSpace(rest.front()))
    rest.remove_prefix(1);
  if (!rest.empty() && rest.front() == '+')
    rest.remove_prefix(1);
  auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (failure != std::errc() || end != rest.data() + rest.size())
    c.fail(ErrorKind::InvalidArgument,
           c.nameOfInput(0) + ": expected numeric values, got " + inQuotes(text));
  return number;
}

static std::string textOf(float number) {
  char text[32];
  auto [end, failure] = std::to_chars(std::begin(text), std::end(text), number);
  return {text, end};
}

static RuntimeValue castList(HostCall &c, const RuntimeValue &list, const std::string &to) {
  if (to == "TO_STRING") {
    if (list.strings())
      return list;
    std::vector<std::string> texts;
    Tensor numbers = list.tensor()->converted(DType::F32);
    for (int64_t i = 0; i < numbers.elements(); ++i)
      texts.push_back(textOf(numbers.as<float>()[i]));
    return listOf(std::move(texts));
  }
  DType dtype = to == "TO_INT64" ? DType::I64 : DType::F32;
  if (list.tensor())
    return list.tensor()->converted(dtype);
  Tensor numbers = Tensor::allocate(DType::F64, list.strings()->shape);
  for (int64_t i = 0; i < numbers.elements(); ++i)
    numbers.as<double>()[i] = numberOf(c, list.strings()->elements[i]);
  return numbers.converted(dtype);
}

/// One row of the values by ascending keys, or each at the position that its key is.
static Values castMap(HostCall &c) {
  const MapValue &map = mapOf(c, 0);
  std::string to = c.node.getString("cast_to", "TO_FLOAT");
  std::string form = c.node.getString("map_form", "DENSE");
  if ((to != "TO_FLOAT" && to != "TO_STRING" && to != "TO_INT64") ||
      (form != "DENSE" && form != "SPARSE"))
    c.fail(ErrorKind::InvalidModel,
           "expected cast_to TO_FLOAT, TO_STRING or TO_INT64 and map_form DENSE or SPARSE, got " +
               inQuotes(to) + " and " + inQuotes(form));
  if (!map.keys.tensor())
    c.fail(ErrorKind::TypeMismatch, c.nameOfInput(0) + ": expected keys of i64, got strings");
  std::vector<int64_t> keys = integersOf(map.keys);
  auto count = static_cast<int64_t>(keys.size());
  RuntimeValue values = castList(c, map.values, to);
  std::vector<int64_t> places;
  if (form == "DENSE") {
    places.resize(count);
    std::iota(places.begin(), places.end(), 0);
    std::sort(places.begin(), places.end(),
              [&](int64_t a, int64_t b) { return keys[a] < keys[b]; });
    return {withAxis(take(values, 0, places), 0)};
  }
  int64_t size = c.node.getInt("max_map", 1);
  if (size < 1 || size > kMaxElements)
    c.fail(ErrorKind::InvalidModel,
           "attribute 'max_map': expected 1 to 2^28, got " + std::to_string(size));
  places.assign(size, count);
  for (int64_t i = 0; i < count; ++i) {
    if (keys[i] < 0 || keys[i] >= size)
      c.fail(ErrorKind::OutOfRange, c.nameOfInput(0) + ": expected keys from 0 to " +
                                        std::to_string(size - 1) + ", got " +
                                        std::to_string(keys[i]));
    places[keys[i]] = i;
  }
  RuntimeValue nothing =
      to == "TO_STRING"
          ? RuntimeValue(listOf(std::vector<std::string>{""}))
          : RuntimeValue(listOf(std::vector<int64_t>{0}).converted(values.tensor()->dtype()));
  return {withAxis(take(*concatenate({values, nothing}, 0), 0, places), 0)};
}

//===--------------------------------------------------------------------------===//
// OneHotEncoder
//===--------------------------------------------------------------------------===//

/// OneHotEncoder of strings; compiled code encodes numbers.
static Values oneHotEncoder(HostCall &c) {
  const StringTensor &given = c.strings(0);
  std::vector<std::string> categories = c.node.getStrings("cats_strings");
  if (categories.empty())
    c.fail(ErrorKind::InvalidModel, "expected categories in 'cats_strings' for strings, got none");
  bool isStrict = c.node.getInt("zeros", 1) == 0;
  std::map<std::string, int64_t> positions = positionsOf(categories);
  auto count = static_cast<int64_t>(categories.size());
  Shape shape = given.shape;
  shape.push_back(count);
  if (elementCount(shape) > kMaxElements * 16)
    c.fail(ErrorKind::OutOfRange,
           "expected a result that fits in memory, got " + shapeString(shape));
  Tensor result = Tensor::allocate(DType::F32, shape);
  auto *data = result.as<float>();
  std::fill(data, data + result.elements(), 0.0F);
  for (size_t i = 0; i < given.elements.size(); ++i) {
    auto found = positions.find(given.elements[i]);
    if (found != positions.end())
      data[static_cast<int64_t>(i) * count + found->second] = 1;
    else if (isStrict)
      c.fail(ErrorKind::OutOfRange, c.nameOfInput(0) + ": expected one of its " +
                                        std::to_string(count) + " categories, got " +
                                        inQuotes(given.elements[i]));
  }
  return {result};
}

HostFamily mapOperators() {
  static const HostOperator table[] = {{"ai.onnx.ml", "ZipMap", 1, zipMap},
                                       {"ai.onnx.ml", "DictVectorizer", 1, dictVectorizer},
                                       {"ai.onnx.ml", "CastMap", 1, castMap},
                                       {"ai.onnx.ml", "OneHotEncoder", 1, oneHotEncoder}};
  return table;
}

} // namespace headrace::operators
