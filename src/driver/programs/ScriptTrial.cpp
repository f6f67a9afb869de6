#include "driver/programs/ScriptTrial.h"

#include "frontend/script/SegmentImporter.h"

#include "script/ScriptSession.h"
#include <algorithm>
#include <set>

namespace fs = std::filesystem;

namespace headrace::script {

namespace {

/// Notes what code is asked for, and has none.
class SegmentRecorder : public SegmentSource {
public:
  explicit SegmentRecorder(std::shared_ptr<mlir::MLIRContext> context)
      : context(std::move(context)) {}

  std::shared_ptr<adaptive::RegionCode> find(const Dag &dag, const Segment &segment) override {
    std::string key = segmentKey(dag, segment);
    if (known.insert(key).second) {
      std::string name = segmentName(dag, segment);
      Segment anySize = segment;
      anySize.expectedSizes.clear(); // a sample is small
      segments.push_back(
          {key, LevelOneProgram{name, context, importSegment(dag, anySize, *context, name)}});
    }
    return nullptr;
  }

  std::vector<TriedScript::Segment> segments;

private:
  std::shared_ptr<mlir::MLIRContext> context;
  std::set<std::string> known;
};

/// Names of files in the package: those next to the script by their place relative to it, those of
/// the script path by the number of their directory. A file may be both.
class FileNames {
public:
  FileNames(const fs::path &script, const std::vector<fs::path> &scriptPath) {
    roots.emplace_back(fs::weakly_canonical(script).parent_path(), "");
    for (const fs::path &folder : scriptPath) {
      folders.push_back("script-path-" + std::to_string(folders.size() + 1));
      roots.emplace_back(fs::weakly_canonical(folder), folders.back());
    }
  }

  std::vector<std::string> of(const fs::path &file) const {
    std::vector<std::string> names;
    for (const auto &[root, name] : roots) {
      fs::path relative = fs::weakly_canonical(file).lexically_relative(root);
      if (!relative.empty() && *relative.begin() != "..")
        names.push_back((name / relative).lexically_normal().generic_string());
    }
    return names;
  }

  std::vector<std::string> folders;

private:
  std::vector<std::pair<fs::path, fs::path>> roots;
};

std::vector<ScriptVariable> outputsOf(const ScriptSession::Variables &left,
                                      const ScriptSample &sample, const std::string &script) {
  std::vector<ScriptVariable> outputs;
  auto fits = [](const Value &value) { return value.matrix() || value.isNumber(); };
  for (const std::string &name : sample.outputs) {
    auto found = left.find(name);
    if (found == left.end() || !fits(found->second))
      throw Error(ErrorKind::InvalidArgument,
                  script + ": expected the script to set a matrix or a number '" + name +
                      "', got " + (found == left.end() ? "none" : describe(found->second)));
    outputs.push_back({name, found->second.matrix() != nullptr});
  }
  if (sample.outputs.empty())
    for (const auto &[name, value] : left)
      if (fits(value) && !sample.inputs.contains(name))
        outputs.push_back({name, value.matrix() != nullptr});
  return outputs;
}

} // namespace

TriedScript tryScript(const fs::path &path, const ScriptSample &sample,
                      std::shared_ptr<mlir::MLIRContext> context) {
  auto recorder = std::make_shared<SegmentRecorder>(std::move(context));
  ScriptOptions options;
  options.settings.code = recorder;
  options.settings.compile = CompileWhen::Always;
  options.settings.sizes = adaptive::SizePolicy::open();
  // Which segments are compiled must not depend on the sizes of a call.
  options.settings.findInvariants = false;
  options.scriptPath = sample.scriptPath;
  options.print = [](const std::string &) {};
  options.isTrial = true;
  auto session = ScriptSession::load(path, std::move(options));
  ScriptSession::Variables left = session->run(sample.inputs, sample.arguments);

  TriedScript tried;
  tried.script.name = path.stem().string();
  for (const auto &[name, value] : sample.inputs)
    tried.script.inputs.push_back({name, value.matrix() != nullptr});
  tried.script.outputs = outputsOf(left, sample, path.string());
  FileNames names(path, sample.scriptPath);
  tried.script.scriptPath = names.folders;
  for (const std::shared_ptr<const Source> &source : session->sources())
    for (const std::string &name : names.of(source->name()))
      tried.script.files.emplace_back(name, source->text());
  tried.segments = std::move(recorder->segments);
  return tried;
}

} // namespace headrace::script
