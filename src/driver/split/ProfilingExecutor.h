// Times of the steps of a split model: the kernels of its programs, and the nodes between.
#pragma once

#include "driver/Model.h"

#include "adaptive/Executor.h"
#include <map>
#include <span>

namespace headrace::split {

class ProfilingExecutor : public adaptive::Executor {
public:
  explicit ProfilingExecutor(bool predicts) : predicts(predicts) {}
  void beginCall();
  /// Runs the program, step by step.
  std::vector<Tensor> runRegion(const std::shared_ptr<const adaptive::Region> &region,
                                std::span<const Tensor> inputs) override;
  /// Runs the node. Excludes time spent in graphs inside of it.
  std::vector<RuntimeValue> runNode(operators::HostFunction function,
                                    operators::HostCall &call) override;

  /// The steps in the order of their first run, each with its median over the calls.
  std::vector<ProfiledStep> steps() const;

private:
  /// A step, and the microseconds of each call.
  struct Entry {
    ProfiledStep step; // of the first call, except for its time
    std::vector<double> microseconds;
  };
  Entry &entryOf(const void *owner, size_t number);
  void add(Entry &entry, double microseconds);
  const std::vector<KernelPrediction> &predicted(const adaptive::Region &region,
                                                 std::span<const Tensor> inputs);

  bool predicts; // what the cost model expects, too
  size_t calls = 0;
  double spent = 0; // microseconds in here so far
  std::vector<Entry> entries;
  std::map<std::pair<const void *, size_t>, size_t> places;     // by version of a program, or node
  std::vector<std::shared_ptr<const adaptive::Region>> regions; // numbered as they were met
  std::vector<std::shared_ptr<const Executable>> versions;      // kept, for they tell entries apart
  std::map<std::pair<const adaptive::Region *, std::vector<Shape>>, std::vector<KernelPrediction>>
      predictions;
};

} // namespace headrace::split
