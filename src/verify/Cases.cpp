#include "runtime/system/Error.h"

#include "verify/RandomValues.h"
#include "verify/Verify.h"

namespace headrace::verify {

namespace {

// The k-th set of sizes: all 1, small odd ones, and some beyond the width of vectors; different for
// each dynamic dimension, so that none stands in for another.
int64_t sizeOf(size_t set, size_t symbol) {
  int64_t apart = 2 * static_cast<int64_t>(symbol);
  return set == 0 ? 3 + apart : set == 1 ? 1 : 17 + apart;
}

constexpr size_t sizeSets = 3;

} // namespace

std::vector<Case> makeCases(const Model &model, const Options &options) {
  if (!options.inputs.empty())
    return {{"given", {}, options.inputs}};
  RandomNumbers numbers(options.seed);
  std::vector<Case> cases;
  auto add = [&](ValueKind kind, size_t set) {
    Case &made = cases.emplace_back(Case{std::string(nameOf(kind)), {}, {}});
    std::vector<int64_t> sizes;
    for (size_t i = 0; i < model.symbols().size(); ++i) {
      bool isGiven = i < options.sizes.size() && options.sizes[i];
      sizes.push_back(isGiven ? *options.sizes[i] : sizeOf(set, i));
      made.sizes.emplace_back(model.symbols()[i], sizes.back());
    }
    std::vector<ValueSpec> types = model.inputValues();
    for (size_t i = 0; i < model.inputs().size(); ++i) {
      const TensorSpec &spec = model.inputs()[i];
      if (!parseDType(types[i].type) || !types[i].shape)
        throw Error(ErrorKind::MissingInput,
                    "input '" + spec.name + "': expected a value to verify with, as it is " +
                        types[i].type + (types[i].shape ? "" : " of unknown rank"));
      Shape shape;
      for (const DimExpr &dim : spec.dims)
        shape.push_back(dim.evaluate(sizes));
      made.inputs.emplace_back(tensorOf(kind, spec.dtype, shape, numbers));
    }
  };
  bool isOpen = false;
  for (size_t i = 0; i < model.symbols().size(); ++i)
    isOpen |= i >= options.sizes.size() || !options.sizes[i];
  for (size_t set = 0; set < (isOpen ? sizeSets : 1); ++set)
    add(ValueKind::Random, set);
  for (ValueKind kind : {ValueKind::Zeros, ValueKind::Negative, ValueKind::Large})
    add(kind, 0);
  if (options.hasSpecialValues)
    add(ValueKind::Special, 0);
  return cases;
}

} // namespace headrace::verify
