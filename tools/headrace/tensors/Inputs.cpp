#include "tensors/Inputs.h"

#include "runtime/system/Error.h"

#include "report/Text.h"
#include "tensors/InputText.h"
#include <fmt/format.h>

namespace headrace::cli {

namespace {

// SplitMix64: the same numbers on every machine, unlike the standard library's distributions.
class RandomNumbers {
public:
  explicit RandomNumbers(uint64_t seed) : state(seed) {}
  uint64_t bits(unsigned count) {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) >> (64 - count);
  }

private:
  uint64_t state;
};

// Bits of a number in [-1, 1) that the type holds exactly, so that none is rounded up to 1.
unsigned randomBits(DType type) {
  switch (type) {
  case DType::F8E5M2:
  case DType::F8E5M2FNUZ:
    return 3;
  case DType::F8E4M3FN:
  case DType::F8E4M3FNUZ:
    return 4;
  case DType::F4E2M1:
    return 2;
  case DType::BF16:
    return 8;
  case DType::F16:
    return 11;
  case DType::F32:
    return 24;
  case DType::F64:
    return 53;
  default:
    return 0;
  }
}

// Integers are 0 or 1: valid as masks, types of tokens and indices of any table.
Tensor randomTensor(DType type, const Shape &shape, RandomNumbers &numbers) {
  unsigned bits = randomBits(type);
  if (bits == 0) {
    Tensor small = Tensor::allocate(DType::U8, shape);
    for (int64_t i = 0; i < small.elements(); ++i)
      small.as<uint8_t>()[i] = static_cast<uint8_t>(numbers.bits(1));
    return small.converted(type);
  }
  Tensor wide = Tensor::allocate(DType::F64, shape);
  double step = 1.0 / static_cast<double>(uint64_t{1} << (bits - 1));
  for (int64_t i = 0; i < wide.elements(); ++i)
    wide.as<double>()[i] = static_cast<double>(numbers.bits(bits)) * step - 1.0;
  return wide.converted(type);
}

class InputGatherer {
public:
  InputGatherer(const Model &model, const InputOptions &options)
      : model(model), options(options), types(model.inputValues()), tensors(types.size()),
        others(types.size()), sizes(parseSizes(options.sizes, model.symbols())) {}

  std::vector<Tensor> gather() {
    collect();
    for (size_t i = 0; i < tensors.size(); ++i)
      if (!tensors[i])
        failMissing(model.inputs()[i]);
    model.bind(tensors);
    return std::move(tensors);
  }

  std::vector<RuntimeValue> gatherAny() {
    collect();
    std::vector<RuntimeValue> values;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::string &type = types[i].type;
      if (tensors[i])
        values.emplace_back(tensors[i]);
      else if (type.starts_with("map(") && others[i].size() == 2)
        values.emplace_back(std::make_shared<const MapValue>(MapValue{others[i][0], others[i][1]}));
      else if (!others[i].empty())
        values.push_back(type.find("sequence(") == std::string::npos ? others[i].front()
                                                                     : RuntimeValue(others[i]));
      else if (type.starts_with("optional("))
        values.emplace_back();
      else if (isTensor(i))
        failMissing(model.inputs()[i]);
      else
        throw Error(ErrorKind::MissingInput,
                    fmt::format("input '{}' is missing: expected {}; give it with --input",
                                types[i].name, type));
    }
    return values;
  }

private:
  void collect() {
    for (const std::string &text : options.texts)
      take(text);
    for (size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i])
        learnSizes(i);
    if (options.seed)
      fillOthers(*options.seed);
  }

  bool isTensor(size_t index) const { return parseDType(types[index].type).has_value(); }

  void take(const std::string &text) {
    auto [index, value] = findInput(text);
    const std::string &type = types[index].type;
    bool isList = type.find("sequence(") != std::string::npos;
    size_t most = type.starts_with("map(") ? 2 : 1; // its keys and its values
    if (!isTensor(index) && (isList || others[index].size() < most)) {
      others[index].push_back(parseValue(value, text));
      return;
    }
    if (tensors[index] || !isTensor(index))
      throw Error(ErrorKind::InvalidArgument, fmt::format("--input {}: input '{}' is given twice",
                                                          text, model.inputs()[index].name));
    tensors[index] = parseTensor(value, text);
  }

  // The input that a text is for, and what follows its name. Names may contain equals signs.
  std::pair<size_t, std::string_view> findInput(std::string_view text) {
    const std::vector<TensorSpec> &inputs = model.inputs();
    std::optional<size_t> named;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (text.starts_with(inputs[i].name + "=") &&
          (!named || inputs[i].name.size() > inputs[*named].name.size()))
        named = i;
    if (named)
      return {*named, text.substr(inputs[*named].name.size() + 1)};
    if (size_t equals = text.find('=');
        equals != std::string_view::npos && looksLikeTensor(text.substr(equals + 1)))
      throw Error(ErrorKind::InvalidArgument,
                  fmt::format("--input {}: the model has no input '{}'; it has {}", text,
                              text.substr(0, equals), quotedList(inputNames())));
    if (positional == inputs.size())
      throw Error(ErrorKind::InvalidArgument,
                  fmt::format("--input {}: the model has only {} input{}", text, inputs.size(),
                              inputs.size() == 1 ? "" : "s"));
    return {positional++, text};
  }

  std::vector<std::string> inputNames() const {
    std::vector<std::string> names;
    for (const TensorSpec &input : model.inputs())
      names.push_back(input.name);
    return names;
  }

  // Open sizes are decided by the tensors given, and must agree with --size.
  void learnSizes(size_t index) {
    const TensorSpec &spec = model.inputs()[index];
    const Shape &shape = tensors[index].shape();
    for (size_t d = 0; d < std::min(shape.size(), spec.dims.size()); ++d) {
      std::optional<unsigned> symbol = spec.dims[d].asSymbol();
      if (!symbol)
        continue;
      std::optional<int64_t> &size = sizes[*symbol];
      if (size && *size != shape[d])
        throw Error(ErrorKind::ShapeMismatch,
                    fmt::format("input '{}': expected {} = {}, got {}", spec.name,
                                model.symbols()[*symbol], *size, shape[d]));
      size = shape[d];
    }
  }

  void fillOthers(uint64_t seed) {
    RandomNumbers numbers(seed);
    std::vector<int64_t> values;
    for (const std::optional<int64_t> &size : sizes)
      values.push_back(size.value_or(1));
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i] || !isTensor(i) || !types[i].shape)
        continue;
      Shape shape;
      for (const DimExpr &dim : model.inputs()[i].dims)
        shape.push_back(dim.evaluate(values));
      tensors[i] = randomTensor(model.inputs()[i].dtype, shape, numbers);
    }
  }

  [[noreturn]] void failMissing(const TensorSpec &spec) const {
    throw Error(
        ErrorKind::MissingInput,
        fmt::format("input '{}' is missing: expected {}; give it with --input {}=@FILE.npy, "
                    "or fill it with --random 0",
                    spec.name, specText(spec, model.symbols()), spec.name));
  }

  const Model &model;
  const InputOptions &options;
  std::vector<ValueSpec> types;
  std::vector<Tensor> tensors;
  std::vector<std::vector<RuntimeValue>> others; // what is given for inputs of other types
  Sizes sizes;
  size_t positional = 0;
};

} // namespace

std::vector<Tensor> gatherInputs(const Model &model, const InputOptions &options) {
  return InputGatherer(model, options).gather();
}

std::vector<RuntimeValue> gatherValues(const Model &model, const InputOptions &options) {
  return InputGatherer(model, options).gatherAny();
}

} // namespace headrace::cli
