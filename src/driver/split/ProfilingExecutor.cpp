#include "driver/split/ProfilingExecutor.h"

#include "driver/CompiledRegion.h"
#include "runtime/system/ThreadPool.h"

#include <algorithm>
#include <chrono>

namespace headrace::split {

void ProfilingExecutor::beginCall() { ++calls; }

ProfilingExecutor::Entry &ProfilingExecutor::entryOf(const void *owner, size_t number) {
  auto [place, isNew] = places.try_emplace({owner, number}, entries.size());
  if (isNew)
    entries.emplace_back();
  return entries[place->second];
}

void ProfilingExecutor::add(Entry &entry, double microseconds) {
  entry.microseconds.resize(calls);
  entry.microseconds.back() += microseconds;
  entry.step.runs += calls == 1;
}

/// One for each size that it runs with: a prediction takes as long as compiling does.
const std::vector<KernelPrediction> &ProfilingExecutor::predicted(const adaptive::Region &region,
                                                                  std::span<const Tensor> inputs) {
  std::vector<Shape> shapes;
  for (const Tensor &input : inputs)
    shapes.push_back(input.shape());
  auto [known, isNew] = predictions.try_emplace({&region, std::move(shapes)});
  if (isNew)
    known->second = modelOf(region).predict(inputs, ThreadPool::global().threads());
  return known->second;
}

/// Adds the prediction of one more run of a step.
static void addRun(std::optional<KernelPrediction> &sum, const KernelPrediction &run) {
  if (!sum) {
    sum = run;
    return;
  }
  sum->microseconds += run.microseconds;
  sum->leastMicroseconds += run.leastMicroseconds;
  for (const auto &[cause, microseconds] : run.losses) {
    auto known = std::find_if(sum->losses.begin(), sum->losses.end(),
                              [&](const auto &loss) { return loss.first == cause; });
    if (known == sum->losses.end())
      sum->losses.emplace_back(cause, microseconds);
    else
      known->second += microseconds;
  }
}

static double microsecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
      .count();
}

std::vector<Tensor>
ProfilingExecutor::runRegion(const std::shared_ptr<const adaptive::Region> &region,
                             std::span<const Tensor> inputs) {
  auto begin = std::chrono::steady_clock::now();
  std::shared_ptr<const Executable> executable = modelOf(*region).compile(inputs);
  if (std::find(versions.begin(), versions.end(), executable) == versions.end())
    versions.push_back(executable);
  std::vector<double> times;
  std::vector<Tensor> results = executable->run(inputs, ThreadPool::global(), &times);
  auto found = std::find(regions.begin(), regions.end(), region);
  size_t number = found - regions.begin();
  if (found == regions.end())
    regions.push_back(region);
  const std::vector<Step> &steps = executable->program().steps;
  times.resize(steps.size());
  std::vector<KernelPrediction> expected;
  std::vector<int64_t> sizes = executable->bind(inputs).value_or(std::vector<int64_t>());
  if (calls == 1 && predicts)
    expected = predicted(*region, inputs);
  for (size_t i = 0; i < steps.size(); ++i) {
    Entry &entry = entryOf(executable.get(), i);
    ProfiledStep &step = entry.step;
    step.name = "region " + std::to_string(number + 1) + ": " + steps[i].name;
    step.operators = steps[i].operators;
    step.routine = steps[i].kind == Step::Kind::Library ? steps[i].symbol : "";
    step.engine = steps[i].engine;
    if (calls == 1) {
      step.bytes +=
          steps[i].cost.bytesRead.evaluate(sizes) + steps[i].cost.bytesWritten.evaluate(sizes);
      step.operations += steps[i].cost.operations.evaluate(sizes);
      if (i < expected.size())
        addRun(step.predicted, expected[i]);
    }
    add(entry, times[i]);
  }
  spent += microsecondsSince(begin);
  return results;
}

std::vector<RuntimeValue> ProfilingExecutor::runNode(operators::HostFunction function,
                                                     operators::HostCall &call) {
  double before = spent;
  auto begin = std::chrono::steady_clock::now();
  std::vector<RuntimeValue> results = function(call);
  double taken = microsecondsSince(begin);
  const operators::HostNode &node = call.node;
  Entry &entry = entryOf(&node, 0);
  entry.step.name = node.describe();
  entry.step.operators = {node.name.empty() ? node.opType : node.name};
  entry.step.engine = hostEngine;
  entry.step.isBetween = true;
  add(entry, std::max(taken - (spent - before), 0.0));
  spent = before + taken;
  return results;
}

std::vector<ProfiledStep> ProfilingExecutor::steps() const {
  std::vector<ProfiledStep> result;
  for (const Entry &entry : entries) {
    std::vector<double> times = entry.microseconds;
    times.resize(calls);
    auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    result.push_back(entry.step);
    result.back().microseconds = *middle;
  }
  return result;
}

} // namespace headrace::split
