// Where the code of segments comes from: a compiler, or a package.
#pragma once

#include "adaptive/Region.h"
#include "script/graph/Segment.h"

namespace headrace::script {

/// Has the code of segments.
class SegmentSource {
public:
  virtual ~SegmentSource() = default;
  /// Null if there is no code for it: its nodes are computed on the host then.
  virtual std::shared_ptr<adaptive::RegionCode> find(const Dag &dag, const Segment &segment) = 0;
  /// The nodes of a segment without code were computed on the host.
  virtual void noteHostRun(const Dag &dag, const Segment &segment) { (void)dag, (void)segment; }
};

} // namespace headrace::script
