#include "quantize/Quantize.h"

#include "driver/programs/OnnxModel.h"
#include "frontend/onnx/read/OnnxReader.h"
#include "frontend/onnx/write/OnnxWriter.h"
#include "runtime/system/Error.h"

#include "quantize/InsertQdq.h"
#include "quantize/Noise.h"
#include "quantize/Prepare.h"
#include "quantize/Probe.h"
#include "quantize/QuantizationPlan.h"
#include "quantize/Ranges.h"
#include <algorithm>

namespace headrace::quantize {

namespace {

class Quantizer {
public:
  Quantizer(onnx::Model given, std::string name, const Options &options)
      : model(std::move(given)), name(std::move(name)), options(options) {}

  Result run(const GivenSamples &given);

private:
  void checkOpset() const;
  void choosePlan();
  bool refuseOtherTypes(const Probe &probe);
  std::vector<std::string> observed() const;
  std::map<std::string, double> measure(const QdqGraph &qdq, const onnx::Model &written);
  void reportOperators(const QdqGraph &qdq, const std::map<std::string, double> &noise);

  onnx::Model model;
  std::string name;
  const Options &options;
  std::optional<onnx::GraphView> view;
  QuantizationPlan plan;
  std::map<size_t, std::string> refused;
  std::optional<Probe> probe;
  std::optional<Samples> samples;
  std::vector<ActivationScale> scales;
  Report report;
};

} // namespace

/// The first operator set whose scales may be along an axis.
static constexpr int64_t kChannelOpset = 13;

static uint64_t constantBytes(const onnx::Graph &graph) {
  uint64_t sum = 0;
  for (const onnx::Initializer &initializer : graph.initializers)
    sum += initializer.tensor.bytes();
  for (const onnx::Node &node : graph.nodes)
    for (const onnx::Attribute &attribute : node.attributes)
      sum += attribute.graph ? constantBytes(*attribute.graph) : attribute.tensor.bytes();
  return sum;
}

void Quantizer::checkOpset() const {
  int64_t opset = model.opsets.at("");
  if (options.weights == WeightScales::Channel && opset < kChannelOpset)
    throw Error(ErrorKind::Unsupported,
                "expected operator set " + std::to_string(kChannelOpset) +
                    " or newer for weights with a scale for each channel, got " +
                    std::to_string(opset) + "; a scale for the tensor needs no newer one");
}

/// The values that runs of the float model are for.
std::vector<std::string> Quantizer::observed() const {
  std::set<std::string> values;
  for (const Group &group : plan.groups)
    for (const std::string &value : group.sources)
      if (!view->constant(value))
        values.insert(value);
  for (const onnx::ValueInfo &output : model.graph.outputs)
    if (output.kind == onnx::ValueInfo::Tensor && !view->constant(output.name))
      values.insert(output.name);
  return {values.begin(), values.end()};
}

/// Types are known once the model is imported: operators on other numbers than f32 stay.
bool Quantizer::refuseOtherTypes(const Probe &candidate) {
  size_t before = refused.size();
  for (const Unit &unit : plan.units) {
    std::vector<std::string> values = unit.inputs;
    values.push_back(unit.output);
    for (const std::string &value : values)
      for (const std::string &source : plan.groups[plan.groupOf.at(value)].sources) {
        const Tensor *constant = view->constant(source);
        DType type = constant ? constant->dtype() : candidate.typeOf(source);
        if (type != DType::F32)
          refused[unit.nodes[0]] = "numbers of type " + std::string(nameOf(type));
      }
  }
  return refused.size() != before;
}

void Quantizer::choosePlan() {
  view.emplace(model.graph);
  do {
    plan = makePlan(model.graph, *view, options, refused);
    if (plan.units.empty())
      throw Error(ErrorKind::Unsupported,
                  "expected operators to quantize (Conv, Gemm, MatMul or Add of f32), got none");
    probe.emplace(model, name, observed());
  } while (refuseOtherTypes(*probe));
}

/// Whether computations yield values of this type.
static bool isFloat(DType type) {
  return type == DType::F32 || type == DType::F16 || type == DType::BF16 || type == DType::F64;
}

std::map<std::string, double> Quantizer::measure(const QdqGraph &qdq, const onnx::Model &written) {
  std::map<std::string, std::string> names;
  std::vector<std::string> after;
  for (const std::string &value : observed()) {
    auto found = qdq.dequantized.find(value);
    bool isOutput = view->isOutput(value);
    if ((found == qdq.dequantized.end() && !isOutput) || !isFloat(probe->typeOf(value)))
      continue;
    names[value] = isOutput ? value : found->second;
    after.push_back(names[value]);
  }
  Probe quantized(written, name, after);
  return signalToNoise(*probe, quantized, names, *samples);
}

static std::string nameOfNode(const onnx::Node &node) {
  return node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
}

void Quantizer::reportOperators(const QdqGraph &qdq, const std::map<std::string, double> &noise) {
  std::map<size_t, OperatorReport> operators;
  auto scaleOf = [&](const std::string &value) -> const ActivationScale & {
    return scales[plan.groupOf.at(value)];
  };
  for (size_t i = 0; i < plan.units.size(); ++i) {
    const Unit &unit = plan.units[i];
    OperatorReport &line = operators[unit.nodes[0]];
    line.form = OperatorReport::Form::Integers;
    for (size_t node : unit.nodes)
      line.kinds.push_back(model.graph.nodes[node].opType);
    for (const std::string &input : unit.inputs)
      line.inputScales.push_back(scaleOf(input).scale);
    line.weightScales = qdq.weightScales[i];
    const ActivationScale &output = scaleOf(unit.output);
    line.outputScale = output.scale;
    line.least = output.least;
    line.greatest = output.greatest;
    if (auto found = noise.find(unit.output); found != noise.end())
      line.signalToNoise = found->second;
  }
  for (size_t node : plan.movers) {
    OperatorReport &line = operators[node];
    line.form = OperatorReport::Form::KeepsScale;
    const ActivationScale &output = scaleOf(model.graph.nodes[node].outputs[0]);
    line.outputScale = output.scale;
    line.least = output.least;
    line.greatest = output.greatest;
  }
  for (const auto &[node, reason] : plan.reasons)
    operators[node].reason = reason;
  for (auto &[node, line] : operators) {
    line.name = nameOfNode(model.graph.nodes[node]);
    if (line.kinds.empty())
      line.kinds = {model.graph.nodes[node].opType};
    report.operators.push_back(std::move(line));
  }
  for (const onnx::ValueInfo &output : model.graph.outputs)
    if (auto found = noise.find(output.name); found != noise.end())
      report.outputs.push_back({output.name, found->second});
}

Result Quantizer::run(const GivenSamples &given) {
  Calibration calibration = calibrationOf(model.graph, given);
  report.weightBytesBefore = constantBytes(model.graph);
  modelOf(model, name); // throws if nodes have not the inputs that they need
  prepare(model);
  checkOpset();
  choosePlan();
  samples.emplace(probe->model(), calibration);
  report.samples = samples->count();
  scales = calibrate(plan, *view, *probe, *samples, options);
  QdqGraph qdq = insertQdq(model.graph, plan, scales, options);
  onnx::Model written = model;
  written.graph = qdq.graph;
  removeUnusedConstants(written.graph);
  report.weightBytesAfter = constantBytes(written.graph);
  reportOperators(qdq, measure(qdq, written));
  return {std::move(written), std::move(report)};
}

Result quantize(onnx::Model model, const std::string &name, const GivenSamples &samples,
                const Options &options) {
  try {
    return Quantizer(std::move(model), name, options).run(samples);
  } catch (const Error &error) {
    std::string what = error.what();
    throw Error(error.kind(), what.starts_with(name + ": ") ? what : name + ": " + what);
  }
}

Report quantizeFile(const std::filesystem::path &path, const GivenSamples &samples,
                    const std::filesystem::path &output, const Options &options) {
  Result result = quantize(onnx::readModel(path), path.filename().string(), samples, options);
  onnx::writeModel(result.model, output);
  return std::move(result.report);
}

} // namespace headrace::quantize
