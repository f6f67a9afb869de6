#pragma once

#include "driver/Settings.h"

#include <functional>
#include <string>

namespace headrace::script {

/// When blocks are compiled rather than computed on the host.
enum class CompileWhen {
  Worthwhile, ///< once they have, or would have, taken longer than compiling does
  Always,     ///< whatever can be; for tests
  Never
};

struct ScriptSettings {
  Settings compiler;
  CompileWhen compile = CompileWhen::Worthwhile;
  /// Plans of blocks that are kept.
  size_t planCacheSize = 256;
  /// Called for every plan that is made, before it runs for the first time: -explain.
  bool explainGraphs = false, explainRuntime = false;
  std::function<void(const std::string &)> explain;
};

} // namespace headrace::script
