// Gradients of a split model: a run that notes the programs it used, and their gradients in reverse
// order. A tensor is known by its memory, so nodes of the host that pass tensors on (If, Loop,
// sequences) need no gradient; one that computes something of values that gradients flow to is an
// Error that names the node, if a gradient other than 0 arrives there.
#pragma once

#include "driver/Model.h"
#include "runtime/system/ForkSafety.h"

#include "adaptive/Executor.h"
#include <map>
#include <optional>
#include <set>

namespace headrace::staged {

/// Forward and backward programs of regions, kept between calls as long as their regions are.
class RegionGradients {
public:
  explicit RegionGradients(const std::string &model) : lock("gradient of '" + model + "'") {}

  struct Programs {
    ForwardBackward pair;
    std::optional<Error> unsupported; // why there are none
  };
  /// The programs of gradients by the inputs of these numbers.
  std::shared_ptr<const Programs> of(const std::shared_ptr<const adaptive::Region> &region,
                                     const std::vector<size_t> &inputs);

private:
  struct Entry {
    std::weak_ptr<const adaptive::Region> region;
    std::shared_ptr<const Programs> programs;
  };
  LongLock lock;
  std::map<std::pair<const adaptive::Region *, std::vector<size_t>>, Entry> entries;
};

class GradientExecutor : public adaptive::Executor {
public:
  /// With `isReference`, programs are evaluated operator by operator in double precision.
  GradientExecutor(RegionGradients &known, bool isReference)
      : known(known), isReference(isReference) {}

  /// Gradients flow to this tensor, and to what is computed from it from here on.
  void follow(const Tensor &tensor);
  std::vector<Tensor> runRegion(const std::shared_ptr<const adaptive::Region> &region,
                                std::span<const Tensor> inputs) override;
  std::vector<RuntimeValue> runNode(operators::HostFunction function,
                                    operators::HostCall &call) override;

  /// After the run: adds a gradient of one of its values.
  void add(const Tensor &value, const Tensor &gradient);
  /// From gradients of results to those of all other values. Throws Error.
  void propagate();
  /// Zeros if none arrived.
  Tensor gradientOf(const Tensor &value) const;

private:
  /// A program that ran, or a node that has no gradient.
  struct Used {
    std::shared_ptr<const RegionGradients::Programs> programs; // null for a node
    std::vector<size_t> followed;                              // of the inputs
    std::vector<Tensor> inputs, outputs, saved;
    std::optional<Error> unsupported;
  };
  using Key = std::pair<const void *, size_t>; // memory and bytes
  static Key keyOf(const Tensor &tensor) { return {tensor.data(), tensor.bytes()}; }
  bool isFollowed(const RuntimeValue &value) const;
  void addOpaque(const RuntimeValue &value, Used &used);
  std::vector<Tensor> run(Model &model, std::span<const Tensor> inputs) const;

  RegionGradients &known;
  bool isReference;
  std::vector<Used> used; // in order
  std::set<Key> keys;     // of what is followed
  std::map<Key, Tensor> gradients;
};

} // namespace headrace::staged
