// Level 2 -> 3: chooses what of a kernel is launched, and how it is given to threads.
//
// Before:
//   func.func @softmax(...) { %m = linalg.generic ... ; %y = linalg.generic ... }
// After:
//   func.func @softmax(...) { %m = linalg.generic ... ;
//     %y = linalg.generic ... {cuda.schedule = {kind = "rows", threads = 128, lanes = 32, ...}} }
#include "target/cuda/ChooseSchedule.h"
#include "target/cuda/Passes.h"
#include "transform/recipe/KernelModel.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CUDAATTACHSCHEDULEPASS
#include "target/cuda/Passes.h.inc"

namespace {

struct CudaAttachSchedulePass : impl::CudaAttachSchedulePassBase<CudaAttachSchedulePass> {
  using CudaAttachSchedulePassBase::CudaAttachSchedulePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Builder b(&getContext());
    if (module->hasAttr(kRecipeAttr))
      module->setAttr(kRecipeRefusedAttr, b.getStringAttr("recipes are for processors"));
    std::string kinds, loops, recipe;
    for (func::FuncOp kernel : module.getOps<func::FuncOp>()) {
      cuda::chooseSchedules(kernel, warpgroups);
      kernel.walk([&](Operation *op) {
        std::optional<cuda::Schedule> schedule = cuda::Schedule::of(op);
        if (!schedule)
          return;
        std::string text = schedule->text();
        kinds = StringRef(text).split(' ').first.str();
        loops += (loops.empty() ? "" : "; ") + text;
        recipe += stageOf(op).str() + ": " + text + "\n";
      });
    }
    module->setAttr(kKindAttr, b.getStringAttr(kinds));
    module->setAttr(kLoopsAttr, b.getStringAttr(loops));
    module->setAttr(kRecipeAttr, b.getStringAttr(recipe));
  }
};

} // namespace
} // namespace headrace
