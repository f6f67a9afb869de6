// Labels and words as numbers: what models of text and tables begin and end with.
#include "runtime/operators/HostOperators.h"
#include "runtime/operators/TensorParts.h"
#include "runtime/system/Text.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

namespace headrace::operators {

using Values = std::vector<RuntimeValue>;

//===--------------------------------------------------------------------------===//
// LabelEncoder
//===--------------------------------------------------------------------------===//

template <class T> static Tensor listOf(DType dtype, const std::vector<T> &numbers) {
  Tensor result = Tensor::allocate(dtype, {static_cast<int64_t>(numbers.size())});
  std::copy(numbers.begin(), numbers.end(), result.as<T>());
  return result;
}

/// A list that stands in one of several attributes: PREFIX_strings, _int64s, _floats or _tensor.
static RuntimeValue listAttribute(HostCall &c, const std::string &prefix) {
  auto find = [&](const char *suffix) { return c.node.find(prefix + suffix); };
  if (const auto *tensor = c.node.get<RuntimeValue>(prefix + "_tensor"))
    return *tensor;
  if (find("_strings")) {
    std::vector<std::string> list = c.node.getStrings(prefix + "_strings");
    return StringTensor{{static_cast<int64_t>(list.size())}, list};
  }
  if (find("_int64s"))
    return listOf(DType::I64, c.node.getInts(prefix + "_int64s"));
  if (const auto *list = c.node.get<std::vector<float>>(prefix + "_floats"))
    return listOf(DType::F32, *list);
  c.fail(ErrorKind::InvalidModel, "expected an attribute " + prefix + "_strings, " + prefix +
                                      "_int64s, " + prefix + "_floats or " + prefix + "_tensor");
}

/// The label of values without a key, as a list of one.
static RuntimeValue defaultLabel(HostCall &c, const RuntimeValue &values) {
  if (const auto *tensor = c.node.get<RuntimeValue>("default_tensor"))
    return tensor->strings() ? *tensor : RuntimeValue(tensor->tensor()->reshaped({1}));
  if (values.strings())
    return StringTensor{{1}, {c.node.getString("default_string", "_Unused")}};
  DType dtype = values.tensor()->dtype();
  if (dtype == DType::F32 || dtype == DType::F64)
    return listOf<float>(DType::F32, {c.node.getFloat("default_float", -0.0F)}).converted(dtype);
  return listOf<int64_t>(DType::I64, {c.node.getInt("default_int64", -1)}).converted(dtype);
}

/// Elements as keys of a table: the bytes of numbers, if every NaN is one and -0 is 0.
static std::vector<std::string> keysOf(const RuntimeValue &value) {
  if (const StringTensor *strings = value.strings())
    return strings->elements;
  const Tensor &tensor = *value.tensor();
  bool isFloating = tensor.dtype() >= DType::F16 && tensor.dtype() < DType::I4;
  Tensor wide = tensor.converted(isFloating ? DType::F64 : DType::I64);
  std::vector<std::string> keys;
  for (int64_t i = 0; i < wide.elements(); ++i) {
    if (isFloating) {
      double &number = wide.as<double>()[i];
      number = std::isnan(number) ? NAN : number == 0 ? 0 : number;
    }
    keys.emplace_back(static_cast<const char *>(wide.data()) + i * 8, 8);
  }
  return keys;
}

/// Each element of input 0 as the value of its key, or the default.
static Values lookedUp(HostCall &c, const RuntimeValue &keys, const RuntimeValue &values,
                       const RuntimeValue &otherwise) {
  const Shape *shape = shapeOf(c.input(0));
  if (!shape || keys.kind() != c.input(0).kind() ||
      (keys.tensor() && keys.tensor()->dtype() != c.tensor(0).dtype()))
    c.fail(ErrorKind::TypeMismatch,
           c.nameOfInput(0) + ": expected the type of its keys, got " + describe(c.input(0)));
  std::vector<std::string> names = keysOf(keys);
  auto count = static_cast<int64_t>(names.size());
  if (shapeOf(values)->size() != 1 || (*shapeOf(values))[0] != count)
    c.fail(ErrorKind::InvalidModel, "expected as many values as keys, got " + describe(values) +
                                        " for " + std::to_string(count));
  std::map<std::string, int64_t> positions;
  for (int64_t i = 0; i < count; ++i)
    positions.emplace(names[i], i);
  std::optional<RuntimeValue> choices = concatenate({values, otherwise}, 0);
  if (!choices)
    c.fail(ErrorKind::InvalidModel, "expected a default of the type of its values");
  std::vector<int64_t> chosen;
  for (const std::string &key : keysOf(c.input(0))) {
    auto found = positions.find(key);
    chosen.push_back(found == positions.end() ? count : found->second);
  }
  return {reshaped(take(*choices, 0, chosen), *shape)};
}

/// Two lists in step; the input's type tells which of them are the keys.
static Values lookedUpEitherWay(HostCall &c, std::vector<std::string> strings,
                                const std::vector<int64_t> &numbers) {
  RuntimeValue words = StringTensor{{static_cast<int64_t>(strings.size())}, std::move(strings)};
  RuntimeValue counted = listOf(DType::I64, numbers);
  bool isOfStrings = c.input(0).strings() != nullptr;
  const RuntimeValue &values = isOfStrings ? counted : words;
  return lookedUp(c, isOfStrings ? words : counted, values, defaultLabel(c, values));
}

/// Version 1 has strings alone, whose positions are the numbers.
static Values labelEncoder(HostCall &c) {
  if (std::vector<std::string> classes = c.node.getStrings("classes_strings"); !classes.empty()) {
    std::vector<int64_t> positions(classes.size());
    std::iota(positions.begin(), positions.end(), 0);
    return lookedUpEitherWay(c, std::move(classes), positions);
  }
  RuntimeValue values = listAttribute(c, "values");
  return lookedUp(c, listAttribute(c, "keys"), values, defaultLabel(c, values));
}

static Values categoryMapper(HostCall &c) {
  return lookedUpEitherWay(c, c.node.getStrings("cats_strings"), c.node.getInts("cats_int64s"));
}

/// Columns of a table of strings; those of numbers are taken in compiled code.
static Values arrayFeatureExtractor(HostCall &c) {
  const Shape *given = shapeOf(c.input(0));
  if (!given || given->empty())
    c.fail(ErrorKind::TypeMismatch,
           c.nameOfInput(0) + ": expected a tensor with an axis, got " + describe(c.input(0)));
  auto last = static_cast<int64_t>(given->size()) - 1;
  std::vector<int64_t> columns = c.integers(1);
  for (int64_t column : columns)
    if (column < 0 || column >= (*given)[last])
      c.fail(ErrorKind::OutOfRange, c.nameOfInput(1) + ": column " + std::to_string(column) +
                                        " is outside a size of " + std::to_string((*given)[last]));
  RuntimeValue result = take(c.input(0), last, columns);
  // A list is one row of a table.
  return {given->size() == 1 ? withAxis(result, 0) : result};
}

//===--------------------------------------------------------------------------===//
// TfIdfVectorizer
//===--------------------------------------------------------------------------===//

namespace {

/// Counts sequences of words from a pool, with a fixed number of words left out between two.
class WordCounter {
public:
  explicit WordCounter(HostCall &c) {
    least = c.node.getInt("min_gram_length", 1);
    most = c.node.getInt("max_gram_length", 1);
    skips = c.node.getInt("max_skip_count", 0);
    indexes = c.node.getInts("ngram_indexes");
    if (least < 1 || most < least || skips < 0 || skips > 1'000'000)
      c.fail(ErrorKind::InvalidModel,
             "expected lengths from 1 on and no negative number of skips, got " +
                 std::to_string(least) + " to " + std::to_string(most) + " and " +
                 std::to_string(skips));
    readPool(c);
    for (int64_t index : indexes)
      if (index < 0 || index > 100'000'000)
        c.fail(ErrorKind::InvalidModel,
               "attribute 'ngram_indexes': expected positions, got " + std::to_string(index));
    for (int64_t index : indexes)
      columns = std::max(columns, index + 1);
    readWeights(c);
  }

  int64_t columns = 0;
  bool isBinary = false;      // counts more than 1 are 1
  std::vector<float> weights; // by column

  void count(std::span<const std::string> words, std::vector<int64_t> &counts) const {
    auto length = static_cast<int64_t>(words.size());
    for (int64_t n = least; n <= most; ++n)
      for (int64_t distance = 1; distance <= (n == 1 ? 1 : skips + 1); ++distance)
        for (int64_t begin = 0; begin < length && (n - 1) * distance < length - begin; ++begin) {
          std::vector<std::string> gram;
          for (int64_t k = 0; k < n; ++k)
            gram.push_back(words[begin + k * distance]);
          if (auto found = grams.find(gram); found != grams.end())
            ++counts[found->second];
        }
  }

private:
  /// The pool lists all sequences of one word, then those of two, and so on.
  void readPool(HostCall &c) {
    std::vector<std::string> words = c.node.find("pool_strings")
                                         ? c.node.getStrings("pool_strings")
                                         : keysOf(tensorOf(c.node.getInts("pool_int64s")));
    std::vector<int64_t> starts = c.node.getInts("ngram_counts");
    starts.push_back(static_cast<int64_t>(words.size()));
    size_t next = 0;
    for (size_t n = 1; n < starts.size(); ++n) {
      int64_t begin = starts[n - 1], end = starts[n];
      if (begin < 0 || begin > end || end > static_cast<int64_t>(words.size()) ||
          (end - begin) % static_cast<int64_t>(n) != 0)
        c.fail(ErrorKind::InvalidModel,
               "attribute 'ngram_counts': expected the beginning of each length in the pool");
      for (int64_t at = begin; at < end; at += static_cast<int64_t>(n), ++next)
        if (next < indexes.size())
          grams.emplace(std::vector(words.begin() + at, words.begin() + at + n), indexes[next]);
    }
    if (next != indexes.size())
      c.fail(ErrorKind::InvalidModel, "attribute 'ngram_indexes': expected " +
                                          std::to_string(next) + " positions, got " +
                                          std::to_string(indexes.size()));
  }

  void readWeights(HostCall &c) {
    std::string mode = c.node.getString("mode", "");
    if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
      c.fail(ErrorKind::InvalidModel,
             "attribute 'mode': expected TF, IDF or TFIDF, got " + inQuotes(mode));
    isBinary = mode == "IDF";
    weights.assign(columns, 1);
    const auto *given = c.node.get<std::vector<float>>("weights");
    if (!given || mode == "TF")
      return;
    if (given->size() != indexes.size())
      c.fail(ErrorKind::InvalidModel, "attribute 'weights': expected as many as 'ngram_indexes'");
    for (size_t i = 0; i < given->size(); ++i)
      weights[indexes[i]] = (*given)[i];
  }

  int64_t least, most, skips;
  std::vector<int64_t> indexes; // columns of the sequences, in the pool's order
  std::map<std::vector<std::string>, int64_t> grams;
};

} // namespace

static Values tfIdfVectorizer(HostCall &c) {
  const Shape *shape = shapeOf(c.input(0));
  if (!shape || shape->empty() || shape->size() > 2)
    c.fail(ErrorKind::ShapeMismatch,
           c.nameOfInput(0) + ": expected rank 1 or 2, got " + describe(c.input(0)));
  auto counter = c.prepared.get<WordCounter>([&] { return WordCounter(c); });
  std::vector<std::string> words = keysOf(c.input(0));
  int64_t rows = shape->size() == 2 ? (*shape)[0] : 1, length = shape->back();
  Tensor result = Tensor::allocate(DType::F32, shape->size() == 2 ? Shape{rows, counter->columns}
                                                                  : Shape{counter->columns});
  auto *out = result.as<float>();
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<int64_t> counts(counter->columns, 0);
    counter->count(std::span(words).subspan(row * length, length), counts);
    for (int64_t i = 0; i < counter->columns; ++i) {
      auto number = static_cast<float>(counter->isBinary ? counts[i] > 0 : counts[i]);
      *out++ = number * counter->weights[i];
    }
  }
  return {result};
}

HostFamily encodingOperators() {
  static const HostOperator table[] = {
      {"", "TfIdfVectorizer", 9, tfIdfVectorizer},
      {"ai.onnx.ml", "LabelEncoder", 1, labelEncoder},
      {"ai.onnx.ml", "ArrayFeatureExtractor", 1, arrayFeatureExtractor},
      {"ai.onnx.ml", "CategoryMapper", 1, categoryMapper},
  };
  return table;
}

} // namespace headrace::operators
