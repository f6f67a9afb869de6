#include "script/ScriptSession.h"

#include "runtime/system/ForkSafety.h"

#include "adaptive/VersionStore.h"
#include "script/DynamicCalls.h"
#include "script/Interpreter.h"
#include "script/language/Parser.h"
#include "script/plan/SizePropagation.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace headrace::script {

std::vector<std::filesystem::path> defaultScriptPath() {
  std::vector<std::filesystem::path> folders;
  const char *text = std::getenv("HEADRACE_SCRIPT_PATH");
  std::istringstream parts(text ? text : "");
  for (std::string part; std::getline(parts, part, ':');)
    if (!part.empty())
      folders.push_back(part);
  return folders;
}

struct ScriptSession::Impl {
  explicit Impl(std::function<Script()> make) : make(std::move(make)), name(nameOf(this->make)) {}

  static std::string nameOf(const std::function<Script()> &make) { return make().source->name(); }

  /// The syntax tree, anew for each version.
  std::function<Script()> make;
  std::string name;
  ScriptOptions options;
  Statistics statistics;
  /// One run at a time.
  LongLock mutex{"script '" + name + "'"};

  /// A program for certain arguments and kinds of inputs, and what was compiled for it.
  struct Version {
    Program program;
    Interpreter interpreter;
    DynamicCalls calls;
    Version(Program program, AnalysisOptions analysis, const ScriptSettings &settings,
            Statistics &statistics)
        : program(std::move(program)), interpreter(settings, statistics),
          calls(this->program, std::move(analysis), settings, statistics) {}
  };
  /// Interpreters are large: each keeps plans and their code.
  static constexpr size_t kMaxVersions = 16;
  adaptive::VersionStore<std::string, Version> versions{
      kMaxVersions,
      [this](const std::string &key, const Version &) { return adaptive::VersionName{name, key}; }};
  std::shared_ptr<Version> latest;

  std::shared_ptr<Version> version(const Variables &inputs,
                                   const std::map<std::string, std::string> &arguments) {
    std::string key;
    AnalysisOptions analysis;
    analysis.parameters = arguments;
    analysis.keepAll = options.results.empty();
    analysis.outputs = options.results;
    analysis.scriptPath = options.scriptPath;
    analysis.files = options.files;
    for (const auto &[name, value] : inputs) {
      analysis.inputs[name] = value.type();
      key += (key.empty() ? "" : ", ") + name + ": " + toText(value.type());
    }
    for (const auto &[name, value] : arguments)
      key += (key.empty() ? "$" : ", $") + name + " = '" + std::to_string(value.size()) + ":" +
             value + "'";
    latest = versions.find(key);
    if (!latest) {
      Program program = analyze(make(), analysis);
      latest = std::make_shared<Version>(std::move(program), std::move(analysis), options.settings,
                                         statistics);
      versions.add(key, latest);
    }
    return latest;
  }
};

static std::function<Script()> parser(std::string name, std::string text) {
  auto source = std::make_shared<const Source>(std::move(name), std::move(text));
  return [source] { return parse(source); };
}

ScriptSession::ScriptSession(std::string name, std::string text, ScriptOptions options)
    : ScriptSession(parser(std::move(name), std::move(text)), std::move(options)) {}

ScriptSession::ScriptSession(std::function<Script()> make, ScriptOptions options)
    : impl(std::make_unique<Impl>(std::move(make))) {
  impl->options = std::move(options);
  if (!impl->options.print)
    impl->options.print = [](const std::string &text) { std::printf("%s\n", text.c_str()); };
}

std::unique_ptr<ScriptSession> ScriptSession::load(const std::filesystem::path &path,
                                                   ScriptOptions options) {
  Source source = Source::read(path);
  return std::make_unique<ScriptSession>(path.string(), std::string(source.text()),
                                         std::move(options));
}

ScriptSession::~ScriptSession() = default;

ScriptSession::Variables ScriptSession::run(const Variables &inputs,
                                            const std::map<std::string, std::string> &arguments) {
  std::lock_guard lock(impl->mutex);
  auto begin = std::chrono::steady_clock::now();
  impl->statistics = {};
  std::shared_ptr<Impl::Version> kept = impl->version(inputs, arguments);
  Impl::Version &version = *kept;
  HostContext context;
  context.print = impl->options.print;
  context.nextSeed = impl->options.firstSeed;
  context.isTrial = impl->options.isTrial;
  context.takeWritten = impl->options.takeWritten;
  context.folder = impl->options.folder / version.program.folder;
  context.call = [&](const std::string &function, HostContext::Entries arguments) {
    return version.calls.call(function, std::move(arguments), context);
  };
  Environment variables(inputs.begin(), inputs.end());
  version.interpreter.run(version.program, variables, context);
  impl->statistics.totalSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Variables result;
  if (!impl->options.results.empty()) {
    for (const std::string &name : impl->options.results) {
      auto found = variables.find(name);
      if (found == variables.end())
        throw Error(ErrorKind::InvalidArgument,
                    "script '" + impl->name + "' leaves no variable '" + name + "'");
      result.emplace(name, found->second);
    }
    return result;
  }
  for (auto &[name, value] : variables)
    if (!name.starts_with('_'))
      result.emplace(name, std::move(value));
  // Variables that the script did not write to are as they were.
  result.insert(inputs.begin(), inputs.end());
  return result;
}

std::vector<std::shared_ptr<const Source>> ScriptSession::sources() const {
  std::vector<std::shared_ptr<const Source>> sources;
  if (!impl->latest)
    return sources;
  auto note = [&](const std::vector<std::shared_ptr<const Script>> &scripts) {
    for (const std::shared_ptr<const Script> &script : scripts)
      if (std::ranges::find(sources, script->source->name(),
                            [](const auto &source) { return source->name(); }) == sources.end())
        sources.push_back(script->source);
  };
  note(impl->latest->program.scripts);
  note(impl->latest->calls.scripts());
  return sources;
}

const Statistics &ScriptSession::statistics() const { return impl->statistics; }

std::string ScriptSession::graphsBeforeRun(const Variables &inputs,
                                           const std::map<std::string, std::string> &arguments) {
  std::map<std::string, Known> known;
  for (const auto &[name, value] : inputs) {
    Known &entry = known[name];
    entry.type = value.type();
    if (const Matrix *matrix = value.matrix()) {
      entry.rows = rowsOf(*matrix);
      entry.cols = colsOf(*matrix);
      entry.sparse = value.sparse();
    }
  }
  return graphsWithKnownSizes(impl->version(inputs, arguments)->program, std::move(known));
}

} // namespace headrace::script
