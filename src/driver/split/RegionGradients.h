// Forward and backward programs of the regions of a split model, and the pass through them.
#pragma once

#include "driver/Model.h"
#include "driver/split/GradientTape.h"
#include "runtime/operators/HostOperators.h"
#include "runtime/system/ForkSafety.h"

#include "adaptive/Region.h"
#include <optional>

namespace headrace::split {

/// Made when a call first needs them, and kept as long as their regions are; those of regions that
/// were dropped serve the tapes that name them for a while.
class RegionGradients {
public:
  explicit RegionGradients(const std::string &model);

  struct Programs {
    ForwardBackward pair;
    std::optional<Error> unsupported; // why there are none
  };
  struct Numbered {
    int64_t number;
    std::shared_ptr<const Programs> programs;
  };
  /// The programs of gradients by the region's inputs of these numbers.
  Numbered of(const std::shared_ptr<const adaptive::Region> &region,
              const std::vector<size_t> &inputs);
  /// The number of a node that has no gradient.
  int64_t of(const operators::HostNode &node);

  /// From gradients of the model's outputs (null: none) to those of the inputs that the tape
  /// follows. Throws Error. With `isReference`, programs are evaluated operator by operator in
  /// double precision.
  std::vector<Tensor> propagate(const GradientTape &tape, std::span<const Tensor> gradients,
                                bool isReference);

  const int64_t origin; // of tapes

private:
  struct Entry {
    int64_t number;
    std::string node; // empty for a region
    std::weak_ptr<const adaptive::Region> region;
    std::vector<size_t> inputs;
    std::shared_ptr<const Programs> programs;
  };
  int64_t add(Entry entry);
  void dropOldest();
  std::shared_ptr<const Programs> programsOf(int64_t number);

  const std::string model;
  LongLock lock;
  int64_t nextNumber = 0;
  std::vector<Entry> entries; // in the order of their numbers
};

/// Results of a program, or of its evaluation operator by operator in double precision.
std::vector<Tensor> runOrEvaluate(Model &model, std::span<const Tensor> inputs, bool isReference);

} // namespace headrace::split
