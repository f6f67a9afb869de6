#include "runtime/program/BindInputs.h"

#include "runtime/system/Error.h"
#include "runtime/tensor/DimExprNodes.h"

#include <algorithm>

namespace headrace {

namespace {

bool withinGuard(const Symbol &symbol, int64_t value) {
  return value >= symbol.min && value <= symbol.max;
}

template <class Range, class Print> std::string joined(const Range &range, Print print) {
  std::string text;
  const char *separator = "";
  for (const auto &item : range) {
    text += separator + print(item);
    separator = " x ";
  }
  return text.empty() ? "scalar" : text;
}

class Binder {
public:
  Binder(const Program &program, std::span<const Tensor> inputs, std::vector<int64_t> &symbols)
      : program(program), inputs(inputs), symbols(symbols) {}

  bool bind() {
    symbols.assign(program.symbols.size(), unboundSize);
    checkCount();
    for (size_t i = 0; i < inputs.size(); ++i) {
      checkTypeAndRank(i);
      bindPlainSymbols(i);
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      checkSizes(i);
    return isWithinGuards(program, symbols);
  }

private:
  void checkCount() const {
    std::string counts = "expected " + std::to_string(program.inputs.size()) + " inputs, got " +
                         std::to_string(inputs.size());
    if (inputs.size() > program.inputs.size())
      throw Error(ErrorKind::InvalidArgument, "program '" + program.name + "': " + counts);
    for (size_t i = 0; i < program.inputs.size(); ++i)
      if (i >= inputs.size() || !inputs[i])
        throw Error(ErrorKind::MissingInput,
                    "input '" + program.inputs[i].name + "' is missing" +
                        (i >= inputs.size() ? ": " + counts : std::string()));
  }

  void checkTypeAndRank(size_t i) const {
    const TensorSpec &spec = program.inputs[i];
    if (inputs[i].dtype() != spec.dtype)
      throw Error(ErrorKind::TypeMismatch, "input '" + spec.name + "': expected type " +
                                               std::string(nameOf(spec.dtype)) + ", got " +
                                               std::string(nameOf(inputs[i].dtype())));
    if (inputs[i].shape().size() != spec.dims.size())
      failShape(i);
  }

  // The first size to stand for a symbol decides it; the others are compared in checkSizes.
  void bindPlainSymbols(size_t i) {
    const std::vector<DimExpr> &dims = program.inputs[i].dims;
    for (size_t d = 0; d < dims.size(); ++d)
      if (std::optional<DecidedSymbol> decided = decidedBy(dims[d]))
        if (symbols[decided->symbol] == unboundSize)
          symbols[decided->symbol] = inputs[i].shape()[d] / decided->factor;
  }

  void checkSizes(size_t i) const {
    const std::vector<DimExpr> &dims = program.inputs[i].dims;
    for (size_t d = 0; d < dims.size(); ++d)
      if (dims[d].evaluate(symbols) != inputs[i].shape()[d])
        failShape(i);
  }

  [[noreturn]] void failShape(size_t i) const {
    const TensorSpec &spec = program.inputs[i];
    std::vector<std::string> names;
    names.reserve(program.symbols.size());
    for (const Symbol &symbol : program.symbols)
      names.push_back(symbol.name);
    std::string expected = joined(spec.dims, [&](const DimExpr &dim) { return dim.str(names); });
    std::string found =
        joined(inputs[i].shape(), [](int64_t size) { return std::to_string(size); });
    throw Error(ErrorKind::ShapeMismatch, "input '" + spec.name + "': expected shape " + expected +
                                              knownSymbols(spec) + ", got " + found);
  }

  // " with batch = 4": what earlier sizes have decided, if the spec depends on it.
  std::string knownSymbols(const TensorSpec &spec) const {
    std::string text;
    for (size_t s = 0; s < symbols.size(); ++s) {
      if (symbols[s] == unboundSize || !dependsOn(spec, s))
        continue;
      text += (text.empty() ? " with " : ", ") + program.symbols[s].name + " = " +
              std::to_string(symbols[s]);
    }
    return text;
  }

  static bool dependsOn(const TensorSpec &spec, size_t symbol) {
    return std::any_of(spec.dims.begin(), spec.dims.end(), [&](const DimExpr &dim) {
      return dim.dependsOn(static_cast<unsigned>(symbol));
    });
  }

  const Program &program;
  std::span<const Tensor> inputs;
  std::vector<int64_t> &symbols;
};

} // namespace

std::optional<DecidedSymbol> decidedBy(const DimExpr &size) {
  if (size.constantPart() != 0 || size.terms().size() != 1)
    return std::nullopt;
  const DimExpr::Term &term = size.terms()[0];
  if (term.coefficient < 1 || term.factors.size() != 1 ||
      term.factors[0]->kind != DimExpr::Atom::Kind::Symbol)
    return std::nullopt;
  return DecidedSymbol{term.factors[0]->symbol, term.coefficient};
}

bool isWithinGuards(const Program &program, std::span<const int64_t> symbols) {
  for (size_t i = 0; i < symbols.size(); ++i)
    if (!withinGuard(program.symbols[i], symbols[i]))
      return false;
  return true;
}

bool bindInputs(const Program &program, std::span<const Tensor> inputs,
                std::vector<int64_t> &symbols) {
  return Binder(program, inputs, symbols).bind();
}

std::string describeGuardFailure(const Program &program, std::span<const int64_t> symbols) {
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Symbol &symbol = program.symbols[i];
    if (withinGuard(symbol, symbols[i]))
      continue;
    std::string range = symbol.max == INT64_MAX
                            ? std::to_string(symbol.min) + " or more"
                            : std::to_string(symbol.min) + " to " + std::to_string(symbol.max);
    return "program '" + program.name + "': expected " + symbol.name + " of " + range + ", got " +
           std::to_string(symbols[i]);
  }
  throw InternalError("all symbols are within their guards");
}

} // namespace headrace
