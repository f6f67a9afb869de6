// Runs a split model and notes on a tape what gradients need. A tensor is known by its memory, so
// nodes of the host that pass tensors on (If, Loop, sequences) need no gradient; one that computes
// something of values that gradients flow to is an Error that names the node, if a gradient other
// than 0 arrives there.
#pragma once

#include "driver/split/RegionGradients.h"

#include "adaptive/Executor.h"
#include <map>

namespace headrace::split {

class GradientExecutor : public adaptive::Executor {
public:
  /// With `isReference`, programs are evaluated operator by operator in double precision.
  GradientExecutor(RegionGradients &known, bool isReference)
      : known(known), isReference(isReference) {}

  /// Gradients flow to this tensor, and to what is computed from it from here on.
  FollowedTensor follow(const Tensor &tensor);
  /// The tensor as tapes name it; without a value if no gradient flows to it.
  FollowedTensor asFollowed(const Tensor &tensor) const;

  std::vector<Tensor> runRegion(const std::shared_ptr<const adaptive::Region> &region,
                                std::span<const Tensor> inputs) override;
  std::vector<RuntimeValue> runNode(operators::HostFunction function,
                                    operators::HostCall &call) override;

  std::vector<UsedProgram> used; // in order

private:
  using Key = std::pair<const void *, size_t>; // memory and bytes
  static Key keyOf(const Tensor &tensor) { return {tensor.data(), tensor.bytes()}; }
  void refuseNeeded(const adaptive::Region &region) const;
  bool isFollowed(const RuntimeValue &value) const;
  void addResult(const RuntimeValue &value, UsedProgram &node);

  RegionGradients &known;
  bool isReference;
  int64_t nextValue = 0;
  std::map<Key, int64_t> values; // that are followed
  std::vector<Tensor> held;      // so that no other tensor gets their memory
};

} // namespace headrace::split
