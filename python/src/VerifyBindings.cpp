// Verification and the numeric policy. Values are as Values.h says.
#include "Bindings.h"
#include "Interpreter.h"
#include "Values.h"
#include "verify/Save.h"
#include "verify/Verify.h"
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace headrace::python {

namespace {

std::vector<RuntimeValue> valuesFromPython(const nb::list &values) {
  std::vector<RuntimeValue> result;
  for (nb::handle value : values)
    result.push_back(valueFromPython(value));
  return result;
}

nb::list valuesToPython(std::vector<RuntimeValue> values) {
  nb::list list;
  for (RuntimeValue &value : values)
    list.append(valueToPython(std::move(value)));
  return list;
}

std::vector<Tensor> tensorsFromPython(const nb::list &values) {
  std::vector<Tensor> tensors;
  for (const RuntimeValue &value : valuesFromPython(values))
    tensors.push_back(*value.tensor());
  return tensors;
}

nb::dict judge(const nb::list &results, const nb::list &rounded, const nb::list &disturbed) {
  std::vector<Tensor> pair = tensorsFromPython(results);
  verify::Judgement judgement = verify::judge(pair.at(0), pair.at(1), tensorsFromPython(rounded),
                                              tensorsFromPython(disturbed));
  nb::dict result;
  result["holds"] = judgement.holds;
  result["error"] = judgement.error;
  result["allowed"] = judgement.allowed;
  result["scale"] = judgement.scale;
  result["float32_error"] = judgement.rounded;
  result["steep"] = judgement.steep;
  result["text"] = verify::text(judgement);
  return result;
}

nb::tuple reportToPython(const verify::Report &report) {
  return nb::make_tuple(verify::jsonText(report), verify::text(report));
}

// Without inputs, cases are made. With `output`, the part of the model in the file `path` that
// differs is written there.
nb::tuple verifyModel(Model &model, Model *package, const nb::list &inputs, uint64_t seed,
                      const std::vector<std::optional<int64_t>> &sizes, bool special, bool steps,
                      bool bisect, const std::string &path, const Settings &settings,
                      const std::string &output) {
  verify::Options options;
  options.inputs = valuesFromPython(inputs);
  options.seed = seed;
  options.sizes = sizes;
  options.hasSpecialValues = special;
  options.comparesSteps = steps;
  options.settings = settings;
  if (bisect)
    options.bisected = path;
  return reportToPython(unlocked([&] {
    verify::Report report = verify::verifyModel(model, package, options);
    if (!output.empty() && !report.holds())
      verify::saveDifference(report, model, path, options, output);
    return report;
  }));
}

// As Model.referenceValues, with the rounding of the types.
nb::list roundedReference(Model &model, const nb::list &inputs, uint64_t seed, double scale) {
  std::vector<RuntimeValue> given = valuesFromPython(inputs);
  return valuesToPython(unlocked([&] { return model.roundedReferenceValues(given, seed, scale); }));
}

nb::list savedInputs(const std::filesystem::path &path) {
  verify::SavedInputs saved = unlocked([&] { return verify::savedInputs(path); });
  nb::list names;
  for (const std::string &name : saved.names)
    names.append(name);
  nb::list both;
  both.append(names);
  both.append(valuesToPython(std::move(saved.values)));
  return both;
}

} // namespace

void registerVerify(nb::module_ &module) {
  module.def("judge", &judge);
  module.def("verify", &verifyModel, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg());
  module.def("rounded_reference", &roundedReference);
  module.def("saved_inputs", &savedInputs);
}

} // namespace headrace::python
