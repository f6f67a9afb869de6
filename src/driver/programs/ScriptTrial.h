// A trial run of a script with sample data: it shows which segments to compile ahead of time.
#pragma once

#include "driver/LevelOneProgram.h"
#include "package/Contents.h"

#include "script/host/Value.h"
#include <filesystem>
#include <map>

namespace headrace::script {

/// Arguments and inputs of a script's trial run.
struct ScriptSample {
  /// `$name`s.
  std::map<std::string, std::string> arguments;
  /// Variables it starts from: the inputs of the package's program.
  std::map<std::string, Value> inputs;
  /// Variables that are its outputs; none: all matrices and numbers it leaves.
  std::vector<std::string> outputs;
  std::vector<std::filesystem::path> scriptPath;
};

struct TriedScript {
  PackagedScript script; ///< with no segments yet
  struct Segment {
    std::string key;
    LevelOneProgram program;
  };
  std::vector<Segment> segments;
};

/// Runs the script on the host; nothing is printed or written. Segments have all sizes open but 0
/// and 1. Throws Error, also if the script cannot run with the sample.
TriedScript tryScript(const std::filesystem::path &path, const ScriptSample &sample,
                      std::shared_ptr<mlir::MLIRContext> context);

} // namespace headrace::script
