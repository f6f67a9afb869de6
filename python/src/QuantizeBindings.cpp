// Post-training quantization.
#include "runtime/system/Error.h"

#include "Arrays.h"
#include "Bindings.h"
#include "Interpreter.h"
#include "quantize/Quantize.h"
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace headrace::python {

namespace {

template <class T>
T named(const char *what, const std::string &word, const std::map<std::string, T> &choices) {
  if (auto found = choices.find(word); found != choices.end())
    return found->second;
  std::string names;
  for (const auto &[name, value] : choices)
    names += (names.empty() ? "'" : ", '") + name + "'";
  throw Error(ErrorKind::InvalidArgument,
              std::string(what) + ": expected one of " + names + ", got '" + word + "'");
}

/// Tuples of the input's name ("": the next in order), the element type and the array.
quantize::GivenSamples givenSamples(const nb::list &arrays) {
  quantize::GivenSamples given;
  for (nb::handle entry : arrays) {
    auto name = nb::cast<std::string>(entry[0]);
    std::optional<DType> type = parseDType(nb::cast<std::string>(entry[1]));
    TensorSpec spec{name, type.value_or(DType::F32), {}};
    given.emplace_back(name, tensorFromPython(entry[2], spec, given.size(), nb::none()));
  }
  return given;
}

// The report as JSON.
std::string quantizeModel(const std::filesystem::path &path, const nb::list &arrays,
                          const std::filesystem::path &output, const std::string &weights,
                          const std::string &scales, const std::string &ranges, double percentile,
                          const std::set<std::string> &keptFloat) {
  quantize::Options options;
  options.weights = named("weights", weights, quantize::weightChoices());
  options.scales = named("scales", scales, quantize::scaleChoices());
  options.ranges = named("ranges", ranges, quantize::rangeChoices());
  options.percentile = percentile;
  options.keptFloat = keptFloat;
  quantize::GivenSamples given = givenSamples(arrays);
  return unlocked(
      [&] { return quantize::reportJson(quantize::quantizeFile(path, given, output, options)); });
}

} // namespace

void registerQuantize(nb::module_ &module) { module.def("quantize", &quantizeModel); }

} // namespace headrace::python
