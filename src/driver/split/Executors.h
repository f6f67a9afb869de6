// How the regions of a split model are evaluated other than compiled: operator by operator in
// double precision, or so with the rounding of their types.
#pragma once

#include "adaptive/Executor.h"

namespace headrace::split {

class ReferenceExecutor : public adaptive::Executor {
public:
  std::vector<Tensor> runRegion(const std::shared_ptr<const adaptive::Region> &region,
                                std::span<const Tensor> inputs) override;
};

/// With the parameters of Model::roundedReference.
class RoundedExecutor : public adaptive::Executor {
public:
  RoundedExecutor(uint64_t seed, double scale) : seed(seed), scale(scale) {}
  std::vector<Tensor> runRegion(const std::shared_ptr<const adaptive::Region> &region,
                                std::span<const Tensor> inputs) override;

private:
  uint64_t seed;
  double scale;
};

/// Computes nothing: gives results of the right types and sizes.
class SizeExecutor : public adaptive::Executor {
public:
  std::vector<Tensor> runRegion(const std::shared_ptr<const adaptive::Region> &region,
                                std::span<const Tensor> inputs) override;
};

} // namespace headrace::split
