#pragma once

#include "script/plan/SegmentCode.h"
#include <functional>
#include <string>

namespace headrace::script {

/// When blocks are compiled rather than computed on the host.
enum class CompileWhen {
  Worthwhile, ///< once they have, or would have, taken longer than compiling does
  Always,     ///< whatever can be: for tests, and if code is there already
  Never
};

/// Sizes in plans.
enum class SizePolicy {
  Adaptive, ///< small ones are constants until they change (PlanSignature.h)
  Open      ///< all are symbols but 0 and 1, so that one plan serves the most
};

struct ScriptSettings {
  /// None: all is computed on the host.
  std::shared_ptr<SegmentSource> code;
  CompileWhen compile = CompileWhen::Worthwhile;
  SizePolicy sizes = SizePolicy::Adaptive;
  /// Plans of blocks that are kept.
  size_t planCacheSize = 256;
  /// Called for every plan that is made, before it runs for the first time: -explain.
  bool explainGraphs = false, explainRuntime = false, explainPlanning = false;
  std::function<void(const std::string &)> explain;
};

} // namespace headrace::script
