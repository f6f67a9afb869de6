// Who runs the parts of a graph: its regions, and the nodes on the host between them. In this
// process; an executor of another kind may send them elsewhere, or measure them.
#pragma once

#include "runtime/operators/HostOperators.h"

#include "adaptive/Region.h"

namespace headrace::adaptive {

class Executor {
public:
  virtual ~Executor() = default;
  virtual std::vector<Tensor> runRegion(const std::shared_ptr<const Region> &region,
                                        std::span<const Tensor> inputs) {
    return region->code->run(inputs);
  }
  virtual std::vector<RuntimeValue> runNode(operators::HostFunction function,
                                            operators::HostCall &call) {
    return function(call);
  }
};

} // namespace headrace::adaptive
