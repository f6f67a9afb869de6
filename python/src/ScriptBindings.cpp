#include "driver/package/PackageCompiler.h"
#include "driver/programs/SegmentCompiler.h"

#include "Bindings.h"
#include "Interpreter.h"
#include "ScriptValues.h"
#include "script/PackagedScript.h"
#include "script/language/Builtins.h"
#include "script/language/Parser.h"
#include "verify/ScriptVerification.h"
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace headrace::python {

namespace {

using script::ScriptSession;
using Variables = ScriptSession::Variables;

/// The variables after a run: a class of its own, so that they are converted one by one.
struct Results {
  Variables variables;
};

script::CompileWhen compileWhen(const std::string &name) {
  if (name == "auto")
    return script::CompileWhen::Worthwhile;
  if (name == "always")
    return script::CompileWhen::Always;
  if (name == "never")
    return script::CompileWhen::Never;
  throw Error(ErrorKind::InvalidArgument,
              "compile: expected auto, always or never, got '" + name + "'");
}

std::vector<std::filesystem::path> withDefaults(std::vector<std::filesystem::path> scriptPath) {
  for (const std::filesystem::path &folder : script::defaultScriptPath())
    scriptPath.push_back(folder);
  return scriptPath;
}

// The run does not hold the interpreter while it computes.
std::function<void(const std::string &)> printer(nb::callable print) {
  std::shared_ptr<nb::callable> held(new nb::callable(std::move(print)),
                                     deleteLocked<nb::callable>);
  return [held](const std::string &line) {
    if (!withInterpreter([&] { (*held)(line); }))
      throw Interrupted();
  };
}

Variables variablesFromPython(const nb::dict &inputs) {
  Variables variables;
  for (auto [name, value] : inputs)
    variables.emplace(nb::cast<std::string>(name), scriptValueFromPython(value));
  return variables;
}

std::unique_ptr<ScriptSession> makeSession(const std::string &name, const std::string &text,
                                           const std::vector<std::filesystem::path> &scriptPath,
                                           const std::string &compile, nb::callable print,
                                           std::vector<std::string> results) {
  script::ScriptOptions options;
  options.results = std::move(results);
  options.scriptPath = withDefaults(scriptPath);
  options.settings.compile = compileWhen(compile);
  options.settings.code = script::makeSegmentCompiler({});
  options.print = printer(std::move(print));
  return std::make_unique<ScriptSession>(name, text, std::move(options));
}

/// Parses and analyzes the script with all of its functions.
void checkScript(const std::string &name, const std::string &text,
                 const std::vector<std::filesystem::path> &scriptPath,
                 const std::map<std::string, std::string> &arguments) {
  script::AnalysisOptions options;
  options.parameters = arguments;
  options.keepAll = options.allFunctions = true;
  options.scriptPath = withDefaults(scriptPath);
  script::analyze(script::parse(std::make_shared<script::Source>(name, text)), options);
}

// The report as JSON and as text.
nb::tuple verifyScript(const std::string &name, const std::string &text,
                       const std::vector<std::filesystem::path> &scriptPath, const nb::dict &inputs,
                       const std::map<std::string, std::string> &arguments) {
  verify::ScriptRun run;
  run.name = name;
  run.open = [&](script::ScriptOptions options) {
    return std::make_unique<ScriptSession>(name, text, std::move(options));
  };
  run.options.settings.code = script::makeSegmentCompiler({});
  run.options.scriptPath = withDefaults(scriptPath);
  run.inputs = variablesFromPython(inputs);
  run.arguments = arguments;
  verify::Report report = unlocked([&] { return verify::verifyScript(run); });
  return nb::make_tuple(verify::jsonText(report), verify::text(report));
}

// None if the package holds no script of that name.
std::unique_ptr<ScriptSession> openPackaged(const Package &package, const std::string &program,
                                            nb::callable print) {
  std::shared_ptr<const PackageScript> found = package.script(program);
  if (!found)
    return nullptr;
  script::ScriptOptions options;
  options.print = printer(std::move(print));
  return script::openScript(std::move(found), std::move(options));
}

void writeScriptPackage(const std::filesystem::path &path, const std::filesystem::path &output,
                        const std::vector<std::string> &processors, const nb::dict &inputs,
                        const std::vector<std::string> &results,
                        const std::map<std::string, std::string> &arguments,
                        const std::vector<std::filesystem::path> &scriptPath) {
  PackageSettings settings;
  if (!processors.empty())
    settings.processors = processors;
  settings.sample = {arguments, variablesFromPython(inputs), results, withDefaults(scriptPath)};
  unlocked([&] { CompiledPackage::compile({{path}}, settings).writePackage(output); });
}

nb::dict statisticsToPython(const script::Statistics &statistics) {
  nb::dict operators;
  for (const auto &[name, times] : statistics.operators)
    operators[name.c_str()] = nb::make_tuple(times.calls, times.seconds);
  nb::dict result;
  result["blocks"] = statistics.blocks;
  result["plans"] = statistics.plans;
  result["recompilations"] = statistics.recompilations;
  result["cache_hits"] = statistics.cacheHits;
  result["compilations"] = statistics.compilations;
  result["reused"] = statistics.reused;
  result["reused_seconds"] = statistics.reusedSeconds;
  result["plan_seconds"] = statistics.planSeconds;
  result["compile_seconds"] = statistics.compileSeconds;
  result["total_seconds"] = statistics.totalSeconds;
  result["operators"] = operators;
  return result;
}

} // namespace

void registerScript(nb::module_ &module) {
  nb::class_<Results>(module, "ScriptVariables")
      .def("names",
           [](const Results &results) {
             std::vector<std::string> names;
             for (const auto &[name, value] : results.variables)
               names.push_back(name);
             return names;
           })
      .def("get", [](const Results &results, const std::string &name) {
        return scriptValueToPython(results.variables.at(name));
      });
  nb::class_<ScriptSession>(module, "ScriptSession")
      .def(
          "run",
          // `before`: variables that an earlier script left, for those that are not given
          [](ScriptSession &session, const nb::dict &inputs,
             const std::map<std::string, std::string> &arguments, const Results *before) {
            Variables variables = variablesFromPython(inputs);
            if (before)
              variables.insert(before->variables.begin(), before->variables.end());
            return unlocked([&] { return Results{session.run(variables, arguments)}; });
          },
          nb::arg("inputs"), nb::arg("arguments"), nb::arg("before").none() = nb::none())
      .def_prop_ro("statistics", [](const ScriptSession &session) {
        return statisticsToPython(session.statistics());
      });
  module.def("script", &makeSession);
  module.def("script_functions", [] {
    std::vector<std::string> names;
    for (const script::Builtin *builtin : script::allBuiltins())
      names.push_back(builtin->name);
    return names;
  });
  module.def("check_script", &checkScript);
  module.def("packaged_script", &openPackaged);
  module.def("verify_script", &verifyScript);
  module.def("write_script_package", &writeScriptPackage);
}

} // namespace headrace::python
