// Level 3: decides where each kernel, library call and check runs.
//
// Before (the target can compute @relu, and not @sort):
//   %y = hr.launch @relu(%x) ; %z = hr.launch @sort(%y)
// After:
//   %y = hr.launch @relu(%x) {hr.engine = "toy"}
//   %z = hr.launch @sort(%y) {hr.engine = "cpu", hr.elsewhere = "has no rule for scf.while"}
//   module @relu attributes {hr.target = "toy"} ; module @sort attributes {hr.target = "cpu"}
//
// The target that was asked for runs what it can. Next to a step that it cannot run, others may be
// better off on the host as well: a small kernel between two of those would cost two copies. Which
// ones is a minimum cut over what steps lose on the host and what copies between memories cost; of
// inputs and outputs the caller decides where they are, so they count nothing.
#include "analysis/OperatorWork.h"
#include "runtime/program/ValueCheck.h"
#include "target/Passes.h"
#include "target/Placement.h"
#include "transform/common/MinimumCut.h"
#include "transform/kernels/KernelFunction.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_PLACEKERNELSPASS
#include "target/Passes.h.inc"

namespace {

/// A launch, a library call or a check.
struct Placed {
  Operation *op;
  std::string refusal; // why the requested target cannot run it
  bool isOwn = false;  // whether the requested target wrote it: nobody else can run it
  double gain = 0;     // microseconds that the host takes longer
  int node = 0;
};

/// The value whose memory this one is.
Value memoryOf(Value value) {
  while (true) {
    if (auto view = value.getDefiningOp<hr::ReshapeOp>())
      value = view.getInput();
    else if (auto check = value.getDefiningOp<hr::CheckOp>())
      value = check.getInput();
    else
      return value;
  }
}

bool hasProduct(ModuleOp kernel) {
  return kernel
      .walk([](linalg::LinalgOp op) {
        return linalg::isaContractionOpInterface(op) ? WalkResult::interrupt()
                                                     : WalkResult::advance();
      })
      .wasInterrupted();
}

class Placer {
public:
  Placer(ModuleOp program, func::FuncOp entry, const Targets &targets)
      : program(program), entry(entry), targets(targets), sizes(sizeHints(entry)) {}

  void run() {
    entry->setAttr(kEngineAttr, StringAttr::get(program.getContext(), targets.wanted.engine()));
    collect();
    bool refusesSome = llvm::any_of(steps, [](const Placed &s) { return !s.refusal.empty(); });
    std::vector<bool> stays(steps.size(), true);
    if (refusesSome)
      stays = cut();
    for (auto [step, isWanted] : llvm::zip_equal(steps, stays))
      place(step, isWanted);
    // Modules of kernels that nothing launches any more would be compiled for nothing.
    for (auto kernel : llvm::make_early_inc_range(program.getOps<ModuleOp>()))
      if (!kernel->hasAttr(kTargetAttr))
        kernel.erase();
  }

private:
  void collect() {
    llvm::StringMap<std::string> known; // equal kernels are one module
    for (Operation &op : entry.getBody().front()) {
      if (!isa<hr::LaunchOp, hr::LibraryOp, hr::CheckOp>(op))
        continue;
      Placed &step = steps.emplace_back(Placed{&op, ""});
      if (auto launch = dyn_cast<hr::LaunchOp>(op)) {
        ModuleOp kernel = kernelOf(launch);
        step.isOwn = kernel->hasAttr(kTargetAttr);
        if (step.isOwn)
          continue;
        auto [refusal, isNew] = known.try_emplace(launch.getKernel());
        if (isNew)
          refusal->second = targets.wanted.unsupportedReason(kernel);
        step.refusal = refusal->second;
        step.gain = gainOf(launch, kernel);
      } else {
        step.refusal = targets.wanted.unsupportedReason(routineOf(op));
      }
    }
  }

  static std::string routineOf(Operation &op) {
    if (auto call = dyn_cast<hr::LibraryOp>(op))
      return call.getRoutine().str();
    return checkSymbol(cast<hr::CheckOp>(op).getCheck().kind);
  }

  ModuleOp kernelOf(hr::LaunchOp launch) const {
    return ModuleOp(program).lookupSymbol<ModuleOp>(launch.getKernel());
  }

  double gainOf(hr::LaunchOp launch, ModuleOp kernel) const {
    auto amount = [&](unsigned i) {
      return static_cast<double>(sizeHint(launch.getCost().getResult(i), sizes));
    };
    OperationKind kind = hasProduct(kernel) ? OperationKind::Product : OperationKind::Simple;
    DType type = launch->getNumResults() == 0
                     ? DType::F32
                     : rateType(getElementTypeOrSelf(launch->getResult(0)));
    auto time = [&](const Target &target) {
      Work work;
      work.move(amount(0) + amount(1), amount(0) + amount(1));
      work.arithmetic.push_back({kind, type, amount(2)});
      work.parts = target.machine().rates.threads;
      return target.costModel().microseconds(work, target.machine().rates.threads);
    };
    return std::max(0.0, time(targets.fallback) - time(targets.wanted));
  }

  double copyTime(Value value) const {
    return targets.wanted.machine().copies.microseconds(bytesAtHints(value, sizes));
  }

  /// Capacities are nanoseconds.
  static int64_t nanoseconds(double microseconds) {
    return static_cast<int64_t>(std::min(microseconds, 1e12) * 1000) + 1;
  }

  /// Which steps the requested target keeps. It is the source: a step on the other side costs what
  /// it gains here, one that is rejected cannot stay, and a value that is read across is copied
  /// once.
  std::vector<bool> cut() {
    MinimumCut graph;
    int wanted = graph.addNode(), host = graph.addNode();
    llvm::DenseMap<Operation *, int> nodes;
    for (Placed &step : steps) {
      step.node = nodes[step.op] = graph.addNode();
      if (step.isOwn)
        graph.addEdge(wanted, step.node, MinimumCut::kUncut);
      else if (step.refusal.empty())
        graph.addEdge(wanted, step.node, nanoseconds(step.gain));
      else
        graph.addEdge(step.node, host, MinimumCut::kUncut);
    }
    llvm::MapVector<Value, SmallVector<int>> readers;
    for (const Placed &step : steps)
      for (Value operand : step.op->getOperands())
        readers[memoryOf(operand)].push_back(step.node);
    for (auto &[value, users] : readers) {
      auto producer = nodes.find(value.getDefiningOp());
      if (!value.getDefiningOp() || producer == nodes.end())
        continue;
      int64_t copy = nanoseconds(copyTime(value));
      int out = graph.addNode(), in = graph.addNode();
      graph.addEdge(producer->second, out, copy);
      graph.addEdge(in, producer->second, copy);
      for (int user : users) {
        graph.addEdge(out, user, MinimumCut::kUncut);
        graph.addEdge(user, in, MinimumCut::kUncut);
      }
    }
    std::vector<bool> side = graph.sourceSide(wanted, host), stays;
    for (const Placed &step : steps)
      stays.push_back(side[step.node]);
    return stays;
  }

  void place(Placed &step, bool isWanted) {
    const Target &target = isWanted ? targets.wanted : targets.fallback;
    Builder b(program.getContext());
    step.op->setAttr(kEngineAttr, b.getStringAttr(target.engine()));
    if (!isWanted)
      step.op->setAttr(kElsewhereAttr, b.getStringAttr(reasonOf(step)));
    if (auto launch = dyn_cast<hr::LaunchOp>(step.op))
      claim(launch, target);
  }

  std::string reasonOf(const Placed &step) const {
    if (!step.refusal.empty())
      return step.refusal;
    return llvm::formatv("the copies would take longer than the {0:f1} us that it gains", step.gain)
        .str();
  }

  /// The kernel's module becomes the target's; another of its launches may have it elsewhere.
  void claim(hr::LaunchOp launch, const Target &target) {
    ModuleOp kernel = kernelOf(launch);
    auto name = StringAttr::get(program.getContext(), target.name());
    auto taken = kernel->getAttrOfType<StringAttr>(kTargetAttr);
    if (!taken) {
      kernel->setAttr(kTargetAttr, name);
    } else if (taken != name) {
      ModuleOp &copy = copies[kernel];
      if (!copy) {
        copy = kernel.clone();
        copy->setAttr(kTargetAttr, name);
        SymbolTable(program).insert(copy); // makes the name unique
        kernelFunction(copy).setName(*copy.getSymName());
      }
      launch.setKernel(*copy.getSymName());
    }
  }

  ModuleOp program;
  func::FuncOp entry;
  const Targets &targets;
  SizeHints sizes;
  std::vector<Placed> steps;
  llvm::DenseMap<Operation *, ModuleOp> copies;
};

struct PlaceKernelsPass : impl::PlaceKernelsPassBase<PlaceKernelsPass> {
  using PlaceKernelsPassBase::PlaceKernelsPassBase;

  void runOnOperation() override {
    Targets targets{findTarget(target), findTarget(fallback)};
    for (auto entry : getOperation().getOps<func::FuncOp>())
      Placer(getOperation(), entry, targets).run();
  }
};

/// Passes over the kernels of one target.
struct PassesOfTarget : PassWrapper<PassesOfTarget, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PassesOfTarget)
  PassesOfTarget(const Targets &targets, const Target &target)
      : targets(targets), target(target), passes(ModuleOp::getOperationName()) {}

  void runOnOperation() override {
    if (&targets.of(getOperation()) == &target && failed(runPipeline(passes, getOperation())))
      signalPassFailure();
  }

  Targets targets;
  const Target &target;
  OpPassManager passes;
};

} // namespace

const Target &Targets::of(ModuleOp kernel) const {
  auto name = kernel->getAttrOfType<StringAttr>(kTargetAttr);
  return name && name == fallback.name() ? fallback : wanted;
}

SmallVector<ModuleOp> Targets::kernelsOf(ModuleOp program, const Target &target) const {
  SmallVector<ModuleOp> kernels;
  for (auto kernel : program.getOps<ModuleOp>())
    if (&of(kernel) == &target)
      kernels.push_back(kernel);
  return kernels;
}

void Targets::addPasses(OpPassManager &program, const Target &target,
                        llvm::function_ref<void(OpPassManager &)> build) const {
  if (isOne())
    return build(program.nest<ModuleOp>());
  auto passes = std::make_unique<PassesOfTarget>(*this, target);
  build(passes->passes);
  program.nest<ModuleOp>().addPass(std::move(passes));
}

} // namespace headrace
