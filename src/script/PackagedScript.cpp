#include "script/PackagedScript.h"

namespace headrace::script {

namespace {

class PackagedSegments : public SegmentSource {
public:
  explicit PackagedSegments(std::shared_ptr<const PackageScript> script)
      : script(std::move(script)) {}

  std::shared_ptr<adaptive::RegionCode> find(const Dag &dag, const Segment &segment) override {
    auto program = script->find(segmentKey(dag, segment));
    return program ? std::make_shared<PackagedCode>(std::move(program)) : nullptr;
  }

private:
  std::shared_ptr<const PackageScript> script;
};

} // namespace

std::unique_ptr<ScriptSession> openScript(std::shared_ptr<const PackageScript> script,
                                          ScriptOptions options) {
  auto files = std::make_shared<ScriptFiles>();
  for (const auto &[name, text] : script->files())
    files->emplace(name, text);
  const auto &[name, text] = script->files().front();
  options.files = std::move(files);
  options.scriptPath.assign(script->scriptPath().begin(), script->scriptPath().end());
  // The segments are compiled already, with all sizes open.
  options.settings.sizes = adaptive::SizePolicy::open();
  // Which segments are compiled must not depend on the sizes of a call.
  options.settings.findInvariants = false;
  options.settings.compile = CompileWhen::Always;
  options.settings.code = std::make_shared<PackagedSegments>(script);
  return std::make_unique<ScriptSession>(name, text, std::move(options));
}

static Value toValue(const ScriptVariable &variable, const Tensor &tensor) {
  bool fits = tensor.dtype() == DType::F64 &&
              (variable.isMatrix ? tensor.shape().size() == 1 || tensor.shape().size() == 2
                                 : tensor.elements() == 1);
  if (!fits)
    throw Error(ErrorKind::TypeMismatch, "input '" + variable.name + "': expected " +
                                             (variable.isMatrix ? "a matrix of f64" : "one f64") +
                                             ", got " + std::string(nameOf(tensor.dtype())) + " " +
                                             shapeString(tensor.shape()));
  if (!variable.isMatrix)
    return *tensor.as<double>();
  return tensor.shape().size() == 1 ? tensor.reshaped({tensor.elements(), 1}) : tensor;
}

static Tensor toTensor(const ScriptVariable &variable, const Value &value) {
  if (variable.isMatrix)
    return value.dense(variable.name.c_str());
  Tensor scalar = Tensor::allocate(DType::F64, {});
  *scalar.as<double>() = value.number(variable.name.c_str());
  return scalar;
}

ScriptProgram::ScriptProgram(std::shared_ptr<const PackageScript> script, ScriptOptions options)
    : declared(std::move(script)), session(openScript(declared, std::move(options))) {}

std::vector<Tensor> ScriptProgram::run(std::span<const Tensor> inputs,
                                       const std::map<std::string, std::string> &arguments) const {
  if (inputs.size() != declared->inputs().size())
    throw Error(ErrorKind::MissingInput, "script '" + declared->name() + "': expected " +
                                             std::to_string(declared->inputs().size()) +
                                             " inputs, got " + std::to_string(inputs.size()));
  ScriptSession::Variables variables;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ScriptVariable &variable = declared->inputs()[i];
    variables.emplace(variable.name, toValue(variable, inputs[i]));
  }
  ScriptSession::Variables left = session->run(variables, arguments);
  std::vector<Tensor> outputs;
  for (const ScriptVariable &variable : declared->outputs()) {
    auto found = left.find(variable.name);
    if (found == left.end())
      throw Error(ErrorKind::Unsupported, "script '" + declared->name() +
                                              "': expected it to set '" + variable.name +
                                              "', which it did not with these inputs");
    outputs.push_back(toTensor(variable, found->second));
  }
  return outputs;
}

} // namespace headrace::script
