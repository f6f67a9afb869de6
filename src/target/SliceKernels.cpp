// Level 3: decides which kernels run depth first, on one slice of their operands after the other.
//
// Before (both can run in 16 slices along the leading dimension):
//   %a = hr.launch @conv1(%x, %w) : tensor<16x56x56x64xf32>
//   %b = hr.launch @conv2(%a, %v) : tensor<16x56x56x256xf32>
// After:
//   %a = hr.launch @conv1(%x, %w) {hr.slices = array<i64: 16, 0, 2>} : tensor<16x56x56x64xf32>
//   %b = hr.launch @conv2(%a, %v) {hr.slices = array<i64: 16, 0, 2>} : tensor<16x56x56x256xf32>
//
// Adjacent kernels in as many slices run together (runtime/program/Slices.h): conv1 on image 0,
// conv2 on image 0, conv1 on image 1, ... The code of the kernels is the same.
//
// Why: what one image needs stays in a cache that the results for all images exceed; a thread takes
// its images through all of the kernels, and waits for others once. When it hurts: weights that the
// caches do not hold beside a slice are read again for each. Both are predicted, and of all ways to
// put neighbours together the one that saves most is taken, if it clearly saves time.
#include "analysis/OperatorWork.h"
#include "dialect/SymbolicShape.h"
#include "target/Passes.h"
#include "target/Slices.h"
#include "target/Target.h"
#include "transform/choices/Choices.h"
#include "transform/choices/Verbs.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_SLICEKERNELSPASS
#include "target/Passes.h.inc"

namespace {

constexpr size_t kMaxRun = 48;       // steps that are considered together: a limit on compile time
constexpr int64_t kMaxSlices = 4096; // beyond, beginning kernels would cost what caches save
/// Runs that are not predicted to save more than this share of their time, and that many
/// microseconds, stay as they are: the cost model does not see smaller differences.
constexpr double kClearly = 0.005, kWorthwhile = 5;

struct Operand {
  Value memory; // behind reshapes
  double bytes;
  bool isCut, isResult;
};

/// A launch, library call or check, in the order in which they run.
struct SliceStep {
  hr::LaunchOp launch; // null for what runs as a whole
  int64_t tiles = 0;   // along the leading dimension; -1: one per element, of an unknown number
  AffineExpr extent{}; // of the leading dimension
  SmallVector<Operand> operands{};
  double computing = 0; // microseconds on all threads
  bool isGiven = false; // by a recipe
};

Value memoryOf(Value value) {
  while (auto view = value.getDefiningOp<hr::ReshapeOp>())
    value = view.getInput();
  return value;
}

class Slicer {
public:
  Slicer(ModuleOp program, func::FuncOp entry, const Machine &machine)
      : program(program), entry(entry), rates(machine.rates), sizes(sizeHints(entry)) {}

  void run() {
    collect();
    followRecipe();
    if (plansGreedily(entry))
      note("");
    else
      choose();
  }

private:
  //===------------------------------------------------------------------------===//
  // Steps
  //===------------------------------------------------------------------------===//

  void collect() {
    for (Operation &op : entry.getBody().front())
      if (auto launch = dyn_cast<hr::LaunchOp>(op))
        addLaunch(launch);
      else if (isa<hr::LibraryOp, hr::CheckOp>(op))
        steps.emplace_back();
    for (const SliceStep &step : steps)
      for (const Operand &operand : step.operands)
        programBytes += operand.isResult || !operand.isCut ? operand.bytes : 0;
  }

  void addLaunch(hr::LaunchOp launch) {
    SliceStep &step = steps.emplace_back();
    step.launch = launch;
    auto kernel = program.lookupSymbol<ModuleOp>(launch.getKernel());
    auto slices = kernel->getAttrOfType<DenseI64ArrayAttr>(kSlicesAttr);
    ArrayRef<int64_t> cut = slices ? slices.asArrayRef().drop_front() : ArrayRef<int64_t>();
    if (slices) {
      step.tiles = slices[0];
      step.extent = shapeOf(launch->getResult(0)).front();
    }
    auto add = [&](Value value, bool isResult) {
      bool isCut = llvm::is_contained(cut, static_cast<int64_t>(step.operands.size()));
      step.operands.push_back({memoryOf(value), bytesAtHints(value, sizes), isCut, isResult});
    };
    for (Value operand : launch.getInputs())
      add(operand, false);
    for (Value result : launch->getResults())
      add(result, true);
    auto operations = static_cast<double>(sizeHint(launch.getCost().getResult(2), sizes));
    DType type = rateType(getElementTypeOrSelf(launch->getResult(0)));
    step.computing =
        operations / rates.operationsPerMicrosecond(OperationKind::Product, type) / rates.threads;
  }

  /// How many slices the step has if each covers `elements` of its leading dimension: -1 for one
  /// per element of an unknown number, 0 if that is not possible.
  int64_t slicesBy(const SliceStep &step, int64_t elements) const {
    if (step.tiles == -1)
      return elements == 1 ? -1 : 0;
    if (step.tiles == 0)
      return 0;
    int64_t extent = constantValue(step.extent).value_or(0);
    return extent % elements == 0 && step.tiles % (extent / elements) == 0 ? extent / elements : 0;
  }

  /// Whether the step can be in `slices` in a run that begins with `first`.
  bool canFollow(const SliceStep &first, size_t begin, size_t index, int64_t slices) const {
    const SliceStep &step = steps[index];
    bool fits = slices == -1 ? step.tiles == -1 && step.extent == first.extent
                             : step.tiles > 0 && step.tiles % slices == 0;
    if (!fits || step.isGiven)
      return false;
    return llvm::all_of(step.operands, [&](const Operand &operand) {
      return operand.isCut || !producerSince(begin, index, operand.memory);
    });
  }

  /// The step from `begin` on and before `index` that writes the memory.
  std::optional<size_t> producerSince(size_t begin, size_t index, Value memory) const {
    for (size_t i = begin; i < index; ++i)
      if (Operation *writer = steps[i].launch; writer && memory.getDefiningOp() == writer)
        return i;
    return std::nullopt;
  }

  //===------------------------------------------------------------------------===//
  // Time
  //===------------------------------------------------------------------------===//

  /// Microseconds of the steps [begin, end) in that many slices; 1: as a whole. All that they read
  /// and write counts, at the speed of the cache that holds what is touched between two uses of it.
  double microseconds(size_t begin, size_t end, double slices) const {
    int threads = rates.threads;
    bool isWhole = slices == 1;
    // What a step touches of a slice, on all threads.
    auto touched = [&](size_t first, size_t last) {
      double bytes = 0;
      for (size_t i = first; i <= last; ++i)
        for (const Operand &operand : steps[i].operands)
          bytes += operand.isCut && !isWhole ? operand.bytes / slices * threads : operand.bytes;
      return bytes;
    };
    double all = touched(begin, end - 1), time = 0;
    for (size_t i = begin; i < end; ++i) {
      double moving = 0;
      auto move = [&](double bytes, double among) {
        moving += bytes / rates.bytesPerMicrosecond(std::min(among, programBytes), threads);
      };
      for (const Operand &operand : steps[i].operands) {
        if (operand.isResult)
          move(operand.bytes, isUsedAfter(operand.memory, end) ? programBytes
                              : isWhole                        ? touched(i == begin ? i : i - 1, i)
                                                               : all);
        else if (std::optional<size_t> producer = producerSince(begin, i, operand.memory))
          move(operand.bytes, touched(*producer, i));
        else
          move(operand.bytes, programBytes);
        if (!operand.isCut)
          move(operand.bytes * (slices - 1), all);
      }
      // As in the cost model: loads run ahead of arithmetic, but do not hide all of it.
      constexpr double notHidden = 0.4;
      time += std::max(moving, steps[i].computing) +
              notHidden * std::min(moving, steps[i].computing) +
              (isWhole ? rates.kernelCall + (threads > 1 ? rates.sharing : 0)
                       : rates.kernelCall * slices / threads);
    }
    return time + (isWhole || threads == 1 ? 0 : rates.sharing);
  }

  bool isUsedAfter(Value memory, size_t end) const {
    SmallVector<Value> views{memory};
    while (!views.empty())
      for (Operation *user : views.pop_back_val().getUsers()) {
        if (isa<func::ReturnOp>(user))
          return true;
        if (auto view = dyn_cast<hr::ReshapeOp>(user))
          views.push_back(view);
        else if (end < steps.size() && !isBefore(user, end))
          return true;
      }
    return false;
  }

  bool isBefore(Operation *user, size_t end) const {
    Operation *last = steps[end - 1].launch;
    return user == last || user->isBeforeInBlock(last);
  }

  //===------------------------------------------------------------------------===//
  // Choice
  //===------------------------------------------------------------------------===//

  void followRecipe() {
    Choices choices(entry);
    for (const ProgramStep &wanted : choices.take(verbs::slice)) {
      int64_t elements = 0;
      (void)StringRef(wanted.object).getAsInteger(10, elements);
      auto found = llvm::find_if(steps, [&](const SliceStep &step) {
        return step.launch && kernelNameOf(step.launch) == wanted.subject;
      });
      if (found == steps.end()) {
        choices.refuse(wanted, "there is no kernel '" + wanted.subject + "'");
        continue;
      }
      int64_t slices = slicesBy(*found, elements);
      if (slices == 0) {
        choices.refuse(wanted, reasonAgainst(*found));
        continue;
      }
      found->isGiven = true;
      if (slices != 1)
        slice(*found, slices);
    }
  }

  std::string reasonAgainst(const SliceStep &step) const {
    if (step.tiles == 0)
      return "its tiles do not follow the leading dimension, or part of them reads more than a "
             "part "
             "of an operand";
    if (step.tiles == -1)
      return "expected 1, since the leading dimension is dynamic";
    int64_t extent = *constantValue(step.extent), tile = extent / step.tiles;
    return "expected a divisor of " + std::to_string(extent) +
           (tile > 1 ? " that is a multiple of " + std::to_string(tile) : "");
  }

  void slice(SliceStep &step, int64_t slices) {
    SmallVector<int64_t> value{slices};
    for (auto [position, operand] : llvm::enumerate(step.operands))
      if (operand.isCut)
        value.push_back(static_cast<int64_t>(position));
    step.launch->setAttr(kSlicesAttr, DenseI64ArrayAttr::get(entry.getContext(), value));
    int64_t elements = slices == -1 ? 1 : *constantValue(step.extent) / slices;
    made.push_back(
        ProgramStep{verbs::slice.name.str(), kernelNameOf(step.launch), std::to_string(elements)});
  }

  struct SlicePlan {
    double saved = 0;
    size_t end = 0;     // of the run that begins here
    int64_t slices = 0; // 0: the step runs as a whole
    double whole = 0, sliced = 0;
  };

  /// From the last step on: the runs that save most.
  void choose() {
    std::vector<SlicePlan> best(steps.size() + 1);
    for (size_t begin = steps.size(); begin-- > 0;) {
      best[begin] = {best[begin + 1].saved, begin + 1};
      for (int64_t slices : candidates(steps[begin]))
        for (size_t end = begin; end < std::min(steps.size(), begin + kMaxRun) &&
                                 canFollow(steps[begin], begin, end, slices);) {
          if (++end - begin < 2)
            continue;
          double count = slices == -1 ? static_cast<double>(sizeHint(steps[begin].extent, sizes))
                                      : static_cast<double>(slices);
          double whole = microseconds(begin, end, 1), sliced = microseconds(begin, end, count);
          double saved = whole - sliced;
          if (saved > std::max(kClearly * whole, kWorthwhile) &&
              saved + best[end].saved > best[begin].saved)
            best[begin] = {saved + best[end].saved, end, slices, whole, sliced};
        }
    }
    std::string planning;
    for (size_t begin = 0; begin < steps.size(); begin = best[begin].end) {
      const SlicePlan &plan = best[begin];
      if (plan.slices == 0)
        continue;
      for (size_t i = begin; i < plan.end; ++i)
        slice(steps[i], plan.slices);
      planning +=
          llvm::formatv("\n{0} to {1} run depth first, slice by slice: an estimated {2:f1} us, "
                        "{3:f1} us one after the other",
                        kernelNameOf(steps[begin].launch), kernelNameOf(steps[plan.end - 1].launch),
                        plan.sliced, plan.whole)
              .str();
    }
    note(planning);
  }

  /// Numbers of slices: the divisors of the tiles that give every thread some.
  SmallVector<int64_t> candidates(const SliceStep &step) const {
    if (step.tiles == -1)
      return {-1};
    SmallVector<int64_t> numbers;
    for (int64_t slices = std::max(2, rates.threads); slices <= std::min(step.tiles, kMaxSlices);
         ++slices)
      if (step.tiles % slices == 0)
        numbers.push_back(slices);
    return numbers;
  }

  void note(const std::string &planning) {
    if (!planning.empty())
      Choices(entry).notePlanning(planningOf(entry) + planning);
    Builder b(entry.getContext());
    SmallVector<Attribute> lines;
    if (auto before = entry->getAttrOfType<ArrayAttr>(kChoicesAttr))
      llvm::append_range(lines, before);
    for (const ProgramStep &step : made)
      lines.push_back(b.getStringAttr(step.text()));
    if (!made.empty())
      entry->setAttr(kChoicesAttr, b.getArrayAttr(lines));
  }

  ModuleOp program;
  func::FuncOp entry;
  const Rates &rates;
  SizeHints sizes;
  std::vector<SliceStep> steps;
  std::vector<ProgramStep> made;
  double programBytes = 0;
};

struct SliceKernelsPass : impl::SliceKernelsPassBase<SliceKernelsPass> {
  using SliceKernelsPassBase::SliceKernelsPassBase;

  void runOnOperation() override {
    for (auto entry : getOperation().getOps<func::FuncOp>())
      Slicer(getOperation(), entry, findTarget(target).machine()).run();
  }
};

} // namespace
} // namespace headrace
