// Level 3: checks that what a kernel returns is in memory of its own.
//
// Rejected:
//   linalg.generic ... outs(%t) ; linalg.copy ins(%t) outs(%first) ; linalg.copy ins(%t)
//   outs(%second) (results 0 and 1 are one buffer) linalg.generic ... outs(%first) ; linalg.copy
//   ins(%t) outs(%first) (what the first computes is lost) linalg.fill outs(%operand) ; memref.view
//   %workspace[0], memref.view %workspace[32], which overlap
//
// Where values become memory, a mistake is a wrong number and no error. So this is part of every
// compilation. Equal results are one result since `outline-kernels`: two that have their numbers
// from one buffer differ in the program.
#include "dialect/Hr.h"
#include "target/Target.h"
#include "target/cpu/Passes.h"
#include "transform/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUVERIFYRESULTSPASS
#include "target/cpu/Passes.h.inc"

namespace {

using Buffers = llvm::SetVector<Value>;

/// Adds the memory that a view may be in: arguments, allocations and parts of the workspace.
void addBuffersOf(Value memory, Buffers &buffers, llvm::SmallDenseSet<Value> &seen) {
  if (!isa<MemRefType>(memory.getType()) || !seen.insert(memory).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(memory)) {
    auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
    OpOperand *start = loop ? loop.getTiedLoopInit(argument) : nullptr;
    if (!start) {
      buffers.insert(memory);
      return;
    }
    addBuffersOf(start->get(), buffers, seen);
    addBuffersOf(loop.getTiedLoopYieldedValue(argument)->get(), buffers, seen);
    return;
  }
  Operation *op = memory.getDefiningOp();
  unsigned number = cast<OpResult>(memory).getResultNumber();
  if (auto view = dyn_cast<ViewLikeOpInterface>(op); view && !isa<memref::ViewOp>(op)) {
    addBuffersOf(view.getViewSource(), buffers, seen);
  } else if (auto choice = dyn_cast<arith::SelectOp>(op)) {
    addBuffersOf(choice.getTrueValue(), buffers, seen);
    addBuffersOf(choice.getFalseValue(), buffers, seen);
  } else if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    addBuffersOf(loop.getInits()[number], buffers, seen);
    addBuffersOf(loop.getYieldedValues()[number], buffers, seen);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    addBuffersOf(branch.thenYield().getOperand(number), buffers, seen);
    addBuffersOf(branch.elseYield().getOperand(number), buffers, seen);
  } else {
    buffers.insert(memory);
  }
}

Buffers buffersOf(Value memory) {
  Buffers buffers;
  llvm::SmallDenseSet<Value> seen;
  addBuffersOf(memory, buffers, seen);
  return buffers;
}

/// Memory effects of an operation, without those inside it.
struct Accesses {
  explicit Accesses(Operation *op) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (!effects)
      return;
    SmallVector<MemoryEffects::EffectInstance> instances;
    effects.getEffects(instances);
    for (const MemoryEffects::EffectInstance &instance : instances) {
      if (!instance.getValue())
        continue;
      if (isa<MemoryEffects::Read>(instance.getEffect()))
        reads.push_back(instance.getValue());
      if (isa<MemoryEffects::Write>(instance.getEffect()))
        writes.push_back(instance.getValue());
    }
  }

  SmallVector<Value> reads, writes;
};

class ResultVerifier {
public:
  explicit ResultVerifier(func::FuncOp kernel) : kernel(kernel) {
    for (BlockArgument argument : kernel.getArguments())
      if (isa<MemRefType>(argument.getType()))
        memories.push_back(argument);
    workspace = memories.pop_back_val();
    auto count = kernel->getAttrOfType<IntegerAttr>(kResultsAttr);
    results = ArrayRef(memories).take_back(count ? count.getInt() : 0);
    operands = ArrayRef(memories).drop_back(results.size());
  }

  LogicalResult run() {
    WalkResult collected = kernel.walk([&](Operation *op) {
      return failed(collect(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (collected.wasInterrupted() || failed(verifyWorkspace()) || failed(verifyOwnMemory()))
      return failure();
    WalkResult kept = kernel.walk([&](Block *block) {
      return failed(verifyNothingLost(*block)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return failure(kept.wasInterrupted());
  }

private:
  /// Without the user's operator, who cannot help it.
  InFlightDiagnostic refuse() {
    return emitError(UnknownLoc::get(kernel.getContext()))
           << "kernel '" << kernel.getName() << "': ";
  }

  /// How a buffer gets its contents.
  struct Contents {
    bool written = false, computed = false;
    Buffers copiedFrom;
  };

  LogicalResult collect(Operation *op) {
    if (auto view = dyn_cast<memref::ViewOp>(op); view && view.getSource() == workspace)
      temporaries.push_back(view);
    Value from;
    if (auto copy = dyn_cast<linalg::CopyOp>(op))
      from = copy.getInputs().front();
    else if (auto copy = dyn_cast<memref::CopyOp>(op))
      from = copy.getSource();
    for (Value memory : Accesses(op).writes)
      for (Value buffer : buffersOf(memory)) {
        if (llvm::is_contained(operands, buffer))
          return refuse() << op->getName() << " writes to operand "
                          << cast<BlockArgument>(buffer).getArgNumber();
        Contents &contents = known[buffer];
        contents.written = true;
        contents.computed |= !from;
        if (from)
          for (Value source : buffersOf(from))
            contents.copiedFrom.insert(source);
      }
    return success();
  }

  LogicalResult verifyWorkspace() {
    auto bytes = kernel->getAttrOfType<IntegerAttr>(kWorkspaceAttr);
    SmallVector<std::pair<int64_t, int64_t>> ranges;
    for (memref::ViewOp view : temporaries) {
      MemRefType type = view.getType();
      std::optional<int64_t> first = getConstantIntValue(view.getByteShift());
      if (!first || !type.hasStaticShape())
        return refuse() << "expected a constant offset in the workspace";
      int64_t size = type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
      if (*first + size > (bytes ? bytes.getInt() : 0))
        return refuse() << "a temporary ends behind the workspace";
      ranges.push_back({*first, *first + size});
    }
    llvm::sort(ranges);
    for (size_t i = 1; i < ranges.size(); ++i)
      if (ranges[i].first < ranges[i - 1].second)
        return refuse() << "two temporaries share bytes of the workspace";
    return success();
  }

  /// The buffers in which the contents of this one were computed.
  void addOrigins(Value buffer, Buffers &origins, llvm::SmallDenseSet<Value> &seen) {
    if (!seen.insert(buffer).second)
      return;
    const Contents &contents = known[buffer];
    if (contents.computed || !contents.written) {
      origins.insert(buffer);
      return;
    }
    for (Value source : SmallVector<Value>(contents.copiedFrom.getArrayRef()))
      addOrigins(source, origins, seen);
  }

  LogicalResult verifyOwnMemory() {
    SmallVector<Buffers> originsOfResults;
    auto areEqual = [](const Buffers &a, const Buffers &b) {
      return a.size() == b.size() &&
             llvm::all_of(a, [&](Value buffer) { return b.contains(buffer); });
    };
    for (auto [i, result] : llvm::enumerate(results)) {
      bool isEmpty = llvm::is_contained(cast<MemRefType>(result.getType()).getShape(), 0);
      if (!known[result].written && !isEmpty)
        return refuse() << "result " << i << " is never written";
      Buffers origins;
      llvm::SmallDenseSet<Value> seen;
      addOrigins(result, origins, seen);
      origins.remove_if([&](Value buffer) { return llvm::is_contained(operands, buffer); });
      for (auto [j, other] : llvm::enumerate(originsOfResults))
        if (!origins.empty() && areEqual(origins, other) &&
            results[j].getType() == result.getType())
          return refuse() << "results " << j << " and " << i << " share a buffer";
      originsOfResults.push_back(std::move(origins));
    }
    return success();
  }

  /// Whether the operation gives a new value to all elements of what it writes.
  static bool overwrites(Operation *op, Value memory) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp)
      return false;
    return llvm::any_of(linalgOp.getDpsInitsMutable(), [&](OpOperand &init) {
      return init.get() == memory &&
             linalgOp.getMatchingIndexingMap(&init).isProjectedPermutation();
    });
  }

  /// Every computed value is read before another one takes its place.
  LogicalResult verifyNothingLost(Block &block) {
    llvm::MapVector<Value, Operation *> unread;
    auto noteReads = [&](Operation *op) {
      if (!isa<MemoryEffectOpInterface>(op) && !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
        unread.clear();
      for (Value memory : Accesses(op).reads) {
        Buffers read = buffersOf(memory);
        unread.remove_if([&](auto &entry) {
          return llvm::any_of(buffersOf(entry.first),
                              [&](Value buffer) { return read.contains(buffer); });
        });
      }
    };
    for (Operation &op : block) {
      op.walk(noteReads);
      for (Value memory : Accesses(&op).writes) {
        if (!overwrites(&op, memory))
          continue;
        if (unread.contains(memory))
          return refuse() << "the result of " << unread[memory]->getName()
                          << " is overwritten before anything reads it";
        if (!isa<linalg::FillOp>(op))
          unread[memory] = &op;
      }
    }
    return success();
  }

  func::FuncOp kernel;
  SmallVector<Value> memories;
  ArrayRef<Value> operands, results;
  Value workspace;
  SmallVector<memref::ViewOp> temporaries;
  llvm::DenseMap<Value, Contents> known;
};

struct CpuVerifyResultsPass : impl::CpuVerifyResultsPassBase<CpuVerifyResultsPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!kernel.isExternal() && failed(ResultVerifier(kernel).run()))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace headrace
