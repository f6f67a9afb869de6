#include "driver/split/RegionGradients.h"

#include "driver/CompiledRegion.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>

namespace headrace::split {

static int64_t newOrigin() {
  static std::atomic<int64_t> last = 0;
  return ++last;
}

RegionGradients::RegionGradients(const std::string &model)
    : origin(newOrigin()), model(model), lock("gradient of '" + model + "'") {}

int64_t RegionGradients::add(Entry entry) {
  entry.number = nextNumber++;
  entries.push_back(std::move(entry));
  return entries.back().number;
}

void RegionGradients::dropOldest() {
  constexpr int64_t maxDropped = 64; // regions that are gone, and their programs not
  auto isGone = [](const Entry &entry) { return entry.node.empty() && entry.region.expired(); };
  int64_t gone = std::ranges::count_if(entries, isGone);
  std::erase_if(entries, [&](const Entry &entry) { return isGone(entry) && gone-- > maxDropped; });
}

RegionGradients::Numbered RegionGradients::of(const std::shared_ptr<const adaptive::Region> &region,
                                              const std::vector<size_t> &inputs) {
  std::lock_guard guard(lock);
  auto known = std::ranges::find_if(entries, [&](const Entry &entry) {
    return entry.inputs == inputs && entry.region.lock() == region;
  });
  if (known != entries.end())
    return {known->number, known->programs};
  dropOldest();
  Model &program = modelOf(*region);
  GradientOptions options;
  for (size_t input : inputs)
    options.wrt.push_back(program.inputs()[input].name);
  auto programs = std::make_shared<Programs>();
  try {
    programs->pair = program.forwardAndBackward(options);
  } catch (const Error &error) {
    if (error.kind() != ErrorKind::Unsupported)
      throw;
    programs->unsupported = error;
  }
  return {add({0, "", region, inputs, programs}), programs};
}

int64_t RegionGradients::of(const operators::HostNode &node) {
  std::lock_guard guard(lock);
  std::string name = node.describe();
  auto known = std::ranges::find(entries, name, &Entry::node);
  if (known != entries.end())
    return known->number;
  auto programs = std::make_shared<Programs>();
  programs->unsupported = Error(ErrorKind::Unsupported,
                                name + ": expected a node with a gradient between an input and a "
                                       "result to differentiate, got one that the host computes "
                                       "between programs");
  return add({0, name, {}, {}, std::move(programs)});
}

std::shared_ptr<const RegionGradients::Programs> RegionGradients::programsOf(int64_t number) {
  std::lock_guard guard(lock);
  auto known = std::ranges::find(entries, number, &Entry::number);
  if (known == entries.end())
    throw Error(ErrorKind::InvalidArgument,
                model + ": input 'tape': its programs were dropped since, because calls of other "
                        "sizes needed others; call the forward program again");
  return known->programs;
}

std::vector<Tensor> runOrEvaluate(Model &model, std::span<const Tensor> inputs, bool isReference) {
  return isReference ? model.reference(inputs) : model.run(inputs);
}

/// In double precision, rounded once.
static Tensor sum(const Tensor &a, const Tensor &b) {
  Tensor result = a.converted(DType::F64), more = b.converted(DType::F64);
  for (int64_t i = 0; i < result.elements(); ++i)
    result.as<double>()[i] += more.as<double>()[i];
  return result.converted(a.dtype());
}

static bool isZero(const Tensor &tensor) {
  Tensor values = tensor.converted(DType::F64);
  return std::all_of(values.as<double>(), values.as<double>() + values.elements(),
                     [](double value) { return value == 0; });
}

namespace {

/// The gradients that arrived so far.
class Totals {
public:
  explicit Totals(const std::string &model) : model(model) {}

  void add(const FollowedTensor &tensor, const Tensor &gradient) {
    if (tensor.value < 0)
      return;
    requireFit(tensor, gradient);
    Tensor &total = totals[tensor.value];
    if (total)
      requireFit(tensor, total);
    total = total ? sum(total, gradient) : gradient;
  }
  /// Zeros if none arrived.
  Tensor of(const FollowedTensor &tensor) const {
    if (const Tensor *found = find(tensor)) {
      requireFit(tensor, *found);
      return found->reshaped(tensor.shape);
    }
    Tensor zeros = Tensor::allocate(tensor.type, tensor.shape);
    std::memset(zeros.data(), 0, zeros.bytes());
    return zeros;
  }
  const Tensor *find(const FollowedTensor &tensor) const {
    auto found = totals.find(tensor.value);
    return found == totals.end() ? nullptr : &found->second;
  }
  void forget(const FollowedTensor &tensor) { totals.erase(tensor.value); }

private:
  void requireFit(const FollowedTensor &tensor, const Tensor &gradient) const {
    if (gradient.dtype() != tensor.type || gradient.elements() != elementCount(tensor.shape))
      throw Error(ErrorKind::InvalidArgument,
                  model + ": input 'tape': expected what a call of the forward program returned");
  }

  const std::string &model;
  std::map<int64_t, Tensor> totals; // by value
};

} // namespace

std::vector<Tensor> RegionGradients::propagate(const GradientTape &tape,
                                               std::span<const Tensor> gradients,
                                               bool isReference) {
  Totals totals(model);
  for (size_t i = 0; i < tape.outputs.size(); ++i)
    if (gradients[i])
      totals.add(tape.outputs[i], gradients[i]);
  for (auto used = tape.used.rbegin(); used != tape.used.rend(); ++used) {
    std::shared_ptr<const Programs> programs = programsOf(used->number);
    bool isReached = std::ranges::any_of(used->outputs, [&](const FollowedTensor &output) {
      const Tensor *found = totals.find(output);
      return found && (!programs->unsupported || !isZero(*found));
    });
    if (!isReached)
      continue;
    if (programs->unsupported)
      throw *programs->unsupported;
    std::vector<Tensor> inputs = used->saved;
    for (const FollowedTensor &output : used->outputs)
      inputs.push_back(totals.of(output));
    for (const FollowedTensor &output : used->outputs)
      totals.forget(output);
    std::vector<Tensor> results = runOrEvaluate(*programs->pair.backward, inputs, isReference);
    for (size_t i = 0; i < std::min(results.size(), used->inputs.size()); ++i)
      totals.add(used->inputs[i], results[i]);
  }
  std::vector<Tensor> results;
  for (const FollowedTensor &input : tape.inputs)
    results.push_back(totals.of(input));
  return results;
}

} // namespace headrace::split
