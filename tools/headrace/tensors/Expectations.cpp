#include "tensors/Expectations.h"

#include "runtime/system/Error.h"
#include "runtime/tensor/Npy.h"

#include "report/Text.h"
#include "tensors/Element.h"
#include "tensors/OutputFiles.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::cli {

namespace fs = std::filesystem;

namespace {

class ExpectationReader {
public:
  explicit ExpectationReader(const Model &model) : model(model) {}

  std::vector<Expectation> read(std::span<const std::string> options) {
    for (const std::string &option : options)
      take(option);
    return std::move(expectations);
  }

private:
  void take(const std::string &option) {
    const std::vector<TensorSpec> &outputs = model.outputs();
    for (size_t i = 0; i < outputs.size(); ++i)
      if (option.starts_with(outputs[i].name + "="))
        return add(i, option.substr(outputs[i].name.size() + 1));
    std::error_code error;
    if (fs::is_directory(option, error)) {
      std::vector<std::string> names = outputFileNames(outputs);
      for (size_t i = 0; i < outputs.size(); ++i)
        add(i, fs::path(option) / names[i]);
      return;
    }
    if (positional == outputs.size())
      throw Error(ErrorKind::InvalidArgument,
                  fmt::format("--expect {}: the model has only {} output{}", option, outputs.size(),
                              outputs.size() == 1 ? "" : "s"));
    add(positional++, option);
  }

  void add(size_t output, const fs::path &file) {
    expectations.push_back({output, file, readNpy(file)});
  }

  const Model &model;
  std::vector<Expectation> expectations;
  size_t positional = 0;
};

// Two float types may differ: the expectation may be more precise than the output.
bool comparable(const Tensor &a, const Tensor &b) {
  return a.shape() == b.shape() &&
         (a.dtype() == b.dtype() || (isFloat(a.dtype()) && isFloat(b.dtype())));
}

} // namespace

std::vector<Expectation> readExpectations(const Model &model,
                                          std::span<const std::string> options) {
  return ExpectationReader(model).read(options);
}

void checkExpectations(const Model &model, std::span<const Expectation> expectations,
                       std::span<const Tensor> outputs, Tolerance tolerance) {
  std::string failure;
  auto fail = [&](const std::string &reason) { failure = failure.empty() ? reason : failure; };
  for (const Expectation &expectation : expectations) {
    const std::string &name = model.outputs()[expectation.output].name;
    const Tensor &output = outputs[expectation.output];
    std::string file = expectation.file.string();
    if (!comparable(output, expectation.tensor)) {
      fail(fmt::format("output '{}': expected {} as in {}, got {}", name,
                       typeText(expectation.tensor), file, typeText(output)));
      continue;
    }
    Comparison result = compare(output, expectation.tensor, tolerance);
    std::string errors = fmt::format("max abs error {:.3g}, max rel error {:.3g}",
                                     result.maxAbsoluteError, result.maxRelativeError);
    if (result.mismatches == 0)
      fmt::print("{} matches {}: {}\n", printable(name), file, errors);
    else
      fail(fmt::format(
          "output '{}': {} of {} values differ from {}, first at [{}]: expected {:.9g}, "
          "got {:.9g} ({})",
          name, result.mismatches, result.elements, file, fmt::join(result.firstIndex, ", "),
          result.firstExpected, result.firstFound, errors));
  }
  if (!failure.empty())
    throw Error(ErrorKind::InvalidArgument, failure);
}

} // namespace headrace::cli
