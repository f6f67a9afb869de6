// Times of the steps of a model in stages: the kernels of its programs, and the nodes between.
#pragma once

#include "driver/staged/Stage.h"
#include "frontend/onnx/read/OnnxModel.h"

#include <functional>
#include <map>
#include <span>

namespace headrace::staged {

class StageProfile {
public:
  explicit StageProfile(bool predicts) : predicts(predicts) {}
  void beginCall();
  /// Runs the program, step by step.
  std::vector<Tensor> timed(const std::shared_ptr<const Stage> &stage,
                            std::span<const Tensor> inputs);
  /// Runs the node. What is timed meanwhile, in graphs inside of it, is not its own.
  std::vector<RuntimeValue> timed(const onnx::Node &node,
                                  const std::function<std::vector<RuntimeValue>()> &run);

  /// The steps in the order of their first run, each with its median over the calls.
  std::vector<StageStep> steps() const;

private:
  /// A step, and the microseconds of each call.
  struct Entry {
    StageStep step; // of the first call, except for its time
    std::vector<double> microseconds;
  };
  Entry &entryOf(const void *owner, size_t number);
  void add(Entry &entry, double microseconds);
  const std::vector<double> &predicted(const Stage &stage, std::span<const Tensor> inputs);

  bool predicts; // what the cost model expects, too
  size_t calls = 0;
  double spent = 0; // microseconds in here so far
  std::vector<Entry> entries;
  std::map<std::pair<const void *, size_t>, size_t> places; // by version of a program, or node
  std::vector<std::shared_ptr<const Stage>> stages;         // numbered as they were met
  std::vector<std::shared_ptr<const Executable>> versions;  // kept, for they tell entries apart
  std::map<std::pair<const Stage *, std::vector<Shape>>, std::vector<double>> predictions;
};

} // namespace headrace::staged
