#pragma once

#include "adaptive/Signature.h"
#include "script/plan/SegmentSource.h"
#include <functional>
#include <string>

namespace headrace::script {

/// When blocks are compiled rather than computed on the host.
enum class CompileWhen {
  Worthwhile, ///< once they have, or would have, taken longer than compiling does
  Always,     ///< whatever can be: for tests, and if code is there already
  Never
};

struct ScriptSettings {
  /// None: all is computed on the host.
  std::shared_ptr<SegmentSource> code;
  CompileWhen compile = CompileWhen::Worthwhile;
  adaptive::SizePolicy sizes = adaptive::SizePolicy::adaptive();
  /// Plans of blocks that are kept.
  size_t planCacheSize = 256;
  /// Operations of a loop's body whose operands stay the same are computed once: LoopInvariants.h.
  bool findInvariants = true;
  /// Called for every plan that is made, before it runs for the first time: -explain.
  bool explainGraphs = false, explainRuntime = false, explainPlanning = false;
  std::function<void(const std::string &)> explain;
};

} // namespace headrace::script
