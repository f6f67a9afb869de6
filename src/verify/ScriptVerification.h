// A script with compiled blocks compared with its evaluation on the host, operation by operation.
#pragma once

#include "script/ScriptSession.h"
#include "verify/Report.h"
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace headrace::verify {

struct ScriptRun {
  std::string name;
  /// Opens the script with these options.
  std::function<std::unique_ptr<script::ScriptSession>(script::ScriptOptions)> open;
  /// Where compiled blocks come from, and the directories of functions.
  script::ScriptOptions options;
  script::ScriptSession::Variables inputs;
  std::map<std::string, std::string> arguments;
};

/// Compares every variable that the script leaves and every value that it writes; no file is
/// written, and nothing is printed. Throws Error as the script does.
Report verifyScript(const ScriptRun &run);

} // namespace headrace::verify
