// Segments as models. The only part of the executor that knows MLIR.
#pragma once

#include "driver/script/BlockPlan.h"

namespace headrace::script {

class SegmentCompiler {
public:
  explicit SegmentCompiler(const Settings &settings);
  ~SegmentCompiler();

  /// A model of the segment; compiles nothing yet. The compiler itself starts with the first.
  std::shared_ptr<Model> makeModel(const Dag &dag, const Segment &segment, const std::string &name);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace headrace::script
