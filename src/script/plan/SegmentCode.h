// The code of segments: compiled when it is requested, or long before. The executor does not care.
#pragma once

#include "runtime/program/Executable.h"
#include "runtime/program/Explanation.h"

#include "script/graph/Segment.h"

namespace headrace::script {

/// A segment as a program.
class SegmentCode {
public:
  virtual ~SegmentCode() = default;
  virtual const std::vector<TensorSpec> &inputs() const = 0;
  /// The executable for inputs of these sizes; compiled now if it is not yet.
  virtual std::shared_ptr<const Executable> executable(std::span<const Tensor> inputs) = 0;
  virtual Explanation explain() = 0;
};

/// Where the code of segments comes from.
class SegmentSource {
public:
  virtual ~SegmentSource() = default;
  /// Null if there is no code for it: its nodes are computed on the host then.
  virtual std::shared_ptr<SegmentCode> find(const Dag &dag, const Segment &segment) = 0;
  /// The nodes of a segment without code were computed on the host.
  virtual void noteHostRun(const Dag &dag, const Segment &segment) { (void)dag, (void)segment; }
};

} // namespace headrace::script
