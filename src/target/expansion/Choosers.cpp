#include "target/expansion/Expansion.h"

using namespace mlir;

namespace headrace {
namespace {

class EstimatingChooser final : public ExpansionChooser {
public:
  explicit EstimatingChooser(const Machine &machine) : machine(machine) {}
  const Expansion &choose(Operation *op, ArrayRef<const Expansion *> candidates) const override {
    auto here = llvm::to_vector(
        llvm::make_filter_range(candidates, [](const Expansion *e) { return e->isHere(); }));
    auto time = [&](const Expansion *expansion) {
      return estimatedMicroseconds(*expansion, op, machine);
    };
    // Generated code, the first, fuses with more than is known here: another must be clearly
    // faster.
    constexpr double kClearly = 1.1;
    const Expansion *best = here.front();
    double least = time(best);
    for (const Expansion *other : ArrayRef(here).drop_front())
      if (double taken = time(other); taken * (best == here.front() ? kClearly : 1) < least) {
        best = other;
        least = taken;
      }
    return *best;
  }

private:
  const Machine &machine;
};

class FixedChooser final : public ExpansionChooser {
public:
  explicit FixedChooser(StringRef name) : wanted(name.str()) {}
  const Expansion &choose(Operation *, ArrayRef<const Expansion *> candidates) const override {
    auto *found =
        llvm::find_if(candidates, [&](const Expansion *e) { return e->name() == wanted; });
    return found == candidates.end() ? *candidates.front() : **found;
  }

private:
  std::string wanted;
};

} // namespace

double estimatedMicroseconds(const Expansion &expansion, Operation *op, const Machine &machine) {
  return machine.cost->microseconds(expansion.work(op, machine),
                                    machine.policy.comparesAllThreads ? machine.rates.threads : 1);
}

std::unique_ptr<ExpansionChooser> makeEstimatingChooser(const Machine &machine) {
  return std::make_unique<EstimatingChooser>(machine);
}

std::unique_ptr<ExpansionChooser> makeFixedChooser(StringRef name) {
  return std::make_unique<FixedChooser>(name);
}

} // namespace headrace
