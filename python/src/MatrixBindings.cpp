// Values of scripts that Python keeps, and programs of operators over them: lazy matrices.
#include "driver/programs/SegmentCompiler.h"

#include "Bindings.h"
#include "Interpreter.h"
#include "ScriptValues.h"
#include "script/OperatorGraph.h"
#include "script/ScriptSession.h"
#include "script/host/Frame.h"
#include "script/language/Loader.h"
#include "script/language/Parser.h"
#include "script/language/Printer.h"
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace headrace::python {

namespace {

using script::GraphOperation;
using script::ScriptOptions;
using script::ScriptSession;
using script::Value;
using ScriptPath = std::vector<std::filesystem::path>;

ScriptPath withDefaults(ScriptPath scriptPath) {
  for (const std::filesystem::path &folder : script::defaultScriptPath())
    scriptPath.push_back(folder);
  return scriptPath;
}

script::LiteralValue literalFromPython(nb::handle value) {
  if (nb::isinstance<nb::bool_>(value))
    return nb::cast<bool>(value);
  if (nb::isinstance<nb::int_>(value))
    return nb::cast<int64_t>(value);
  if (nb::isinstance<nb::float_>(value))
    return nb::cast<double>(value);
  return nb::cast<std::string>(value);
}

/// (targets, function, [(parameter, variable or None, literal or None)], text)
GraphOperation operationFromPython(const nb::tuple &parts) {
  GraphOperation operation;
  operation.targets = nb::cast<std::vector<std::string>>(parts[0]);
  operation.function = nb::cast<std::string>(parts[1]);
  for (nb::handle entry : nb::cast<nb::list>(parts[2])) {
    auto operand = nb::cast<nb::tuple>(entry);
    auto &made = operation.operands.emplace_back();
    made.name = nb::cast<std::string>(operand[0]);
    if (!operand[1].is_none())
      made.value = script::Variable{nb::cast<std::string>(operand[1])};
    else if (!operand[2].is_none())
      made.value = literalFromPython(operand[2]);
  }
  operation.text = nb::cast<std::string>(parts[3]);
  return operation;
}

/// A program of operators; plans and code are kept for the next run.
class OperatorGraph {
public:
  OperatorGraph(const nb::list &parts, std::vector<std::string> results, ScriptPath scriptPath,
                bool always)
      : results(std::move(results)), scriptPath(withDefaults(std::move(scriptPath))),
        always(always) {
    for (nb::handle entry : parts)
      operations.push_back(operationFromPython(nb::cast<nb::tuple>(entry)));
    session = open(options());
  }

  nb::list run(const nb::dict &inputs) {
    ScriptSession::Variables given = variables(inputs);
    ScriptSession::Variables left = unlocked([&] { return session->run(given); });
    nb::list values;
    for (const std::string &name : results)
      values.append(nb::cast(left.at(name)));
    return values;
  }

  /// "hops": the operations with what is known before a run; "runtime": a run's kernels.
  std::string explain(const nb::dict &inputs, const std::string &level) {
    ScriptSession::Variables given = variables(inputs);
    if (level == "hops")
      return unlocked([&] { return open(options())->graphsBeforeRun(given, {}); });
    std::string text;
    ScriptOptions explained = options();
    explained.settings.compile = script::CompileWhen::Always;
    explained.settings.explainRuntime = true;
    explained.settings.explain = [&](const std::string &more) { text += more; };
    unlocked([&] { open(explained)->run(given); });
    return text;
  }

  nb::dict statistics() const {
    nb::dict counts;
    counts["plans"] = session->statistics().plans;
    counts["cache_hits"] = session->statistics().cacheHits;
    counts["compilations"] = session->statistics().compilations;
    counts["total_seconds"] = session->statistics().totalSeconds;
    return counts;
  }

private:
  static ScriptSession::Variables variables(const nb::dict &inputs) {
    ScriptSession::Variables given;
    for (auto [name, value] : inputs)
      given.emplace(nb::cast<std::string>(name), scriptValueFromPython(value));
    return given;
  }

  ScriptOptions options() const {
    ScriptOptions options;
    options.scriptPath = scriptPath;
    options.settings.code = script::makeSegmentCompiler({});
    if (always)
      options.settings.compile = script::CompileWhen::Always;
    options.results = results;
    options.print = [](const std::string &line) {
      if (!withInterpreter([&] { nb::print(line.c_str()); }))
        throw Interrupted();
    };
    return options;
  }

  std::unique_ptr<ScriptSession> open(ScriptOptions options) const {
    return std::make_unique<ScriptSession>(
        [this] { return script::scriptOf("lazy matrices", operations); }, std::move(options));
  }

  std::vector<GraphOperation> operations;
  std::vector<std::string> results;
  ScriptPath scriptPath;
  bool always;
  std::unique_ptr<ScriptSession> session;
};

/// (rows, columns) of a matrix or a frame, () of a scalar, None of a list.
nb::object shapeOf(const Value &value) {
  if (auto *matrix = value.matrix())
    return nb::make_tuple(rowsOf(*matrix), colsOf(*matrix));
  if (auto *frame = value.as<script::FramePtr>())
    return nb::make_tuple((*frame)->rows, std::ssize((*frame)->columns));
  return value.type().isScalar() ? nb::object(nb::tuple()) : nb::none();
}

/// What a function of the script path expects and gives: None if no file defines it, else
/// (inputs [(name, type, default or None)], outputs [(name, type)], text of its file).
nb::object functionSignature(const std::string &name, const ScriptPath &scriptPath) {
  auto empty = std::make_shared<const script::Source>("lookup", "");
  script::Loader loader(script::parse(empty), withDefaults(scriptPath), nullptr);
  auto [module, definition] = loader.autoload(name);
  if (!definition)
    return nb::none();
  nb::list inputs, outputs;
  for (const script::TypedName &input : definition->inputs) {
    nb::object otherwise = nb::none();
    if (input.defaultValue)
      otherwise = nb::cast(script::print(*input.defaultValue));
    inputs.append(nb::make_tuple(input.name, script::toText(input.type), otherwise));
  }
  for (const script::TypedName &output : definition->outputs)
    outputs.append(nb::make_tuple(output.name, script::toText(output.type)));
  return nb::make_tuple(inputs, outputs, std::string(module->script->source->text()));
}

} // namespace

void registerMatrices(nb::module_ &module) {
  nb::class_<Value>(module, "ScriptValue")
      .def("__init__",
           [](Value *self, nb::handle value) { new (self) Value(scriptValueFromPython(value)); })
      .def("get", &scriptValueToPython)
      .def_prop_ro("shape", &shapeOf);
  nb::class_<OperatorGraph>(module, "OperatorGraph")
      .def(nb::init<const nb::list &, std::vector<std::string>, ScriptPath, bool>())
      .def("run", &OperatorGraph::run)
      .def("explain", &OperatorGraph::explain)
      .def_prop_ro("statistics", &OperatorGraph::statistics);
  module.def("function_signature", &functionSignature);
}

} // namespace headrace::python
