// Level 3: what a recipe promised and the kernel did not keep.
//
// Before:
//   module @k { func.func @k(...) { scf.for { vector.transfer_read %c ; ... ; vector.transfer_write
//     %x, %c } } }
// After, the same kernel:
//   module @k attributes {hr.recipe_notes = "an accumulator of C lies in memory ..."}
//
// A recipe that is legal can still be a bad one: results are right, and slow. The notes say why:
// accumulators in memory or more than the machine has registers, inner loops that stayed scalar,
// allocations inside loops. They follow what earlier passes noted, change nothing and are shown by
// `headrace explain`.
#include "analysis/Machine.h"
#include "target/cpu/Passes.h"
#include "transform/recipe/KernelModel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUCHECKKERNELPASS
#include "target/cpu/Passes.h.inc"

namespace {

bool isInnermost(scf::ForOp loop) {
  return !loop.getBody()->walk([](scf::ForOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

struct CpuCheckKernelPass : impl::CpuCheckKernelPassBase<CpuCheckKernelPass> {
  using CpuCheckKernelPassBase::CpuCheckKernelPassBase;

  void runOnOperation() override {
    notes.clear();
    ModuleOp module = getOperation();
    if (auto before = module->getAttrOfType<StringAttr>(kRecipeNotesAttr))
      notes.push_back(before.str());
    module.walk([&](scf::ForOp loop) {
      if (isInnermost(loop)) {
        checkAccumulators(loop);
        checkRegisters(loop);
      }
    });
    auto kind = module->getAttrOfType<StringAttr>(kKindAttr);
    if (kind && kind != "loops" && kind != "calls")
      checkScalars(module);
    module.walk([&](memref::AllocOp alloc) {
      if (alloc->getParentOfType<scf::ForOp>())
        note("memory is allocated inside a loop");
    });
    if (!notes.empty())
      module->setAttr(kRecipeNotesAttr, StringAttr::get(&getContext(), llvm::join(notes, "; ")));
  }

private:
  void note(const std::string &text) {
    if (!llvm::is_contained(notes, text))
      notes.push_back(text);
  }

  /// Read and written at the same place in every iteration.
  void checkAccumulators(scf::ForOp loop) {
    auto isFixed = [&](Value value) { return loop.isDefinedOutsideOfLoop(value); };
    loop.getBody()->walk([&](vector::TransferReadOp read) {
      if (!isFixed(read.getSource()) || !llvm::all_of(read.getIndices(), isFixed))
        return;
      for (Operation *user : read.getSource().getUsers())
        if (auto write = dyn_cast<vector::TransferWriteOp>(user);
            write && loop->isProperAncestor(write) && write.getIndices() == read.getIndices())
          note("accumulators are in memory, not in registers, during an inner loop");
    });
  }

  int64_t registersOf(VectorType type) const {
    int64_t bits = type.getElementType().getIntOrFloatBitWidth();
    int64_t last = type.getRank() ? type.getShape().back() : 1;
    return type.getNumElements() / std::max<int64_t>(1, last) *
           llvm::divideCeil(last * bits, machineOfTarget(target).vectorBytes * 8);
  }

  void checkRegisters(scf::ForOp loop) {
    int64_t carried = 0, row = 0;
    for (Value argument : loop.getRegionIterArgs())
      if (auto type = dyn_cast<VectorType>(argument.getType()))
        carried += registersOf(type);
    if (carried == 0)
      return;
    loop.getBody()->walk([&](vector::TransferReadOp read) {
      VectorType type = read.getVectorType();
      if (type.getRank() > 0 && type.getShape().back() > 1)
        row = std::max<int64_t>(
            row, registersOf(VectorType::get({type.getShape().back()}, type.getElementType())));
    });
    int64_t vectorRegisters = machineOfTarget(target).vectorRegisters;
    if (carried + row > vectorRegisters)
      note("an inner loop carries " + std::to_string(carried) + " vectors and reads " +
           std::to_string(row) + " at a time; the machine has " + std::to_string(vectorRegisters) +
           " registers");
  }

  /// A recipe asked for vectors, and none came out of it, or a reduction stayed scalar.
  void checkScalars(ModuleOp module) {
    bool vectors = module
                       .walk([](Operation *op) {
                         return isa<vector::VectorDialect>(op->getDialect())
                                    ? WalkResult::interrupt()
                                    : WalkResult::advance();
                       })
                       .wasInterrupted();
    module.walk([&](linalg::LinalgOp op) {
      if (stageOf(op).empty() || isa<linalg::FillOp>(op))
        return;
      if (!vectors || (op.getNumReductionLoops() > 0 && op->getParentOfType<scf::ForOp>() &&
                       op.getStaticLoopRanges().size() > 1))
        note("stage '" + stageOf(op).str() + "' did not become vectors");
    });
  }

  SmallVector<std::string> notes;
};

} // namespace
} // namespace headrace
