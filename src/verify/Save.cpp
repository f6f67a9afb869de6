#include "verify/Save.h"

#include "driver/programs/OnnxModel.h"
#include "frontend/onnx/read/OnnxReader.h"
#include "frontend/onnx/write/OnnxWriter.h"
#include "runtime/system/Error.h"

#include "verify/Reduce.h"
#include <algorithm>

namespace headrace::verify {

// In the file's metadata: initializers of inputs are values to verify with.
static constexpr char valuesKey[] = "headrace.verify";
static constexpr char valuesText[] = "initializers of inputs are values to verify with";

void saveDifference(Report &report, const Model &model, const std::filesystem::path &path,
                    const Options &options, const std::filesystem::path &output) {
  auto different = std::ranges::find_if(
      report.cases, [](const CaseReport &each) { return each.refused.empty() && !each.holds(); });
  if (different == report.cases.end())
    return;
  std::vector<Case> cases = makeCases(model, options);
  const Case &given = cases[static_cast<size_t>(different - report.cases.begin())];
  std::map<std::string, Tensor> inputs;
  for (size_t i = 0; i < given.inputs.size(); ++i) {
    if (!given.inputs[i].tensor()) {
      report.notSaved = "input '" + model.inputs()[i].name +
                        "': expected a numeric tensor to save, got " + describe(given.inputs[i]);
      return;
    }
    inputs[model.inputs()[i].name] = *given.inputs[i].tensor();
  }
  onnx::Model file = onnx::readModel(path);
  for (const std::string &name : options.settings.givenInputs)
    std::erase_if(file.graph.initializers,
                  [&](const onnx::Initializer &each) { return each.name == name; });
  Settings own = options.settings;
  own.givenInputs.clear();
  auto differs = [&](const ReducedModel &part) {
    std::shared_ptr<Model> made = modelOf(part.model, model.name(), own);
    std::vector<RuntimeValue> values;
    for (const TensorSpec &spec : made->inputs())
      values.emplace_back(part.inputs.at(spec.name));
    return !agrees(*made, values);
  };
  std::vector<std::string> suspects;
  if (different->firstWrong)
    suspects = different->firstWrong->operators;
  ReducedModel part;
  try {
    part = reduced(file, inputs, suspects, differs);
  } catch (const Error &error) { // the difference does not show when the model runs again
    report.notSaved = error.what();
    return;
  }
  onnx::Model written = part.withValues();
  written.metadata[valuesKey] = valuesText;
  onnx::writeModel(written, output);
  report.saved = output.string();
  report.savedNodes = part.nodeNames();
}

SavedInputs savedInputs(const std::filesystem::path &path) {
  SavedInputs result;
  onnx::Model file = onnx::readModel(path);
  auto said = file.metadata.find(valuesKey);
  if (said == file.metadata.end() || said->second != valuesText)
    return result;
  for (const onnx::ValueInfo &input : file.graph.inputs)
    for (const onnx::Initializer &each : file.graph.initializers)
      if (each.name == input.name && each.tensor) {
        result.names.push_back(each.name);
        result.values.emplace_back(each.tensor);
      }
  return result;
}

} // namespace headrace::verify
