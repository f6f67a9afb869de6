#include "tensors/Inputs.h"

#include "runtime/system/Error.h"

#include "report/Text.h"
#include "tensors/InputText.h"
#include "verify/RandomValues.h"
#include <fmt/format.h>

namespace headrace::cli {

namespace {

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

  // Dynamic dimensions are decided by the tensors given, and must agree with --size.
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
    verify::RandomNumbers numbers(seed);
    std::vector<int64_t> values;
    for (const std::optional<int64_t> &size : sizes)
      values.push_back(size.value_or(1));
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i] || !isTensor(i) || !types[i].shape)
        continue;
      Shape shape;
      for (const DimExpr &dim : model.inputs()[i].dims)
        shape.push_back(dim.evaluate(values));
      tensors[i] = verify::randomTensor(model.inputs()[i].dtype, shape, numbers);
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
