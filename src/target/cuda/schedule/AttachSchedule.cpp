// Level 2 -> 3: chooses what of a kernel is launched, and how it is given to threads; what the
// user's recipe says of it comes first.
//
// Before:
//   module @softmax attributes {hr.recipe = "y: rows lanes=8"} {
//     func.func @softmax(...) { %m = linalg.generic ... ; %y = linalg.generic ... } }
// After:
//   module @softmax attributes {hr.recipe = "y: rows threads=128 vector=4 lanes=8 held=4", ...} {
//     func.func @softmax(...) { %m = linalg.generic ... ;
//       %y = linalg.generic ... {cuda.schedule = {kind = "rows", threads = 128, lanes = 8, ...}} }
//       }
//
// A recipe that is not legal leaves its reason on the module, and the launches that the compiler
// chooses.
#include "dialect/ExpectedSizes.h"
#include "runtime/system/Error.h"
#include "target/cuda/Passes.h"
#include "target/cuda/schedule/ChooseSchedule.h"
#include "target/cuda/schedule/LaunchRecipe.h"
#include "target/cuda/schedule/LegalSchedule.h"
#include "transform/choices/RecipePlace.h"
#include "transform/kernels/KernelFunction.h"
#include "transform/kernels/KernelStages.h"
#include "transform/recipe/KernelModel.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CUDAATTACHSCHEDULEPASS
#include "target/cuda/Passes.h.inc"

namespace {

/// The schedules that the lines give to the kernel's operations, in program order. Throws Error if
/// a line speaks of an operation that does not exist.
cuda::GivenSchedules givenSchedules(func::FuncOp kernel,
                                    const std::vector<cuda::LaunchLine> &lines) {
  cuda::GivenSchedules given;
  SmallVector<Operation *> stages = stagesOf(kernel.getBody().front());
  for (Operation *op : stages)
    for (const cuda::LaunchLine &line : lines)
      if (line.stage == stageOf(op))
        given[op] = line.given;
  for (const cuda::LaunchLine &line : lines)
    if (llvm::none_of(stages, [&](Operation *op) { return stageOf(op) == line.stage; }))
      throw Error(ErrorKind::InvalidArgument, placeInRecipe(line.line) + ", '" + line.stage + ": " +
                                                  line.given.text() + "': nothing reads it");
  return given;
}

struct CudaAttachSchedulePass : impl::CudaAttachSchedulePassBase<CudaAttachSchedulePass> {
  using CudaAttachSchedulePassBase::CudaAttachSchedulePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp kernel = kernelFunction(module);
    if (!kernel)
      return;
    Builder b(&getContext());
    if (std::string refused = chooseAsGiven(module, kernel); !refused.empty()) {
      module->setAttr(kRecipeRefusedAttr, b.getStringAttr(refused));
      kernel.walk([](Operation *op) { op->removeAttr(cuda::kScheduleAttr); });
      (void)cuda::chooseSchedules(kernel, device());
    }
    describe(module, kernel);
    // Known until here: equal kernels stay equal, whatever sizes were expected of them.
    module->removeAttr(kExpectedSizesAttr);
  }

private:
  cuda::DeviceTraits device() const { return {warpgroups, multiprocessors}; }

  /// Returns why that is not possible.
  std::string chooseAsGiven(ModuleOp module, func::FuncOp kernel) {
    auto recipe = module->getAttrOfType<StringAttr>(kRecipeAttr);
    try {
      std::vector<cuda::LaunchLine> lines;
      if (recipe)
        lines = cuda::parseLaunches(recipe.getValue());
      std::string refused = cuda::chooseSchedules(kernel, device(), givenSchedules(kernel, lines));
      for (const cuda::LaunchLine &line : lines)
        if (StringRef(refused).starts_with(line.stage + ": "))
          return placeInRecipe(line.line) + ", '" + refused;
      return refused;
    } catch (const Error &error) {
      return error.what();
    }
  }

  /// Notes the choices on the module, for reports and as a recipe.
  void describe(ModuleOp module, func::FuncOp kernel) {
    Builder b(&getContext());
    std::string kinds, loops, recipe;
    kernel.walk([&](Operation *op) {
      std::optional<cuda::Schedule> schedule = cuda::Schedule::of(op);
      if (!schedule)
        return;
      std::string text = schedule->text();
      if (auto refusal = cuda::refusalOf(op, *schedule, warpgroups)) {
        op->emitError("launched as '")
            << text << "': " << refusal->parameter << ": " << refusal->reason;
        return signalPassFailure();
      }
      kinds = StringRef(text).split(' ').first.str();
      loops += (loops.empty() ? "" : "; ") + text;
      recipe += stageOf(op).str() + ": " + text + "\n";
    });
    module->setAttr(kKindAttr, b.getStringAttr(kinds));
    module->setAttr(kLoopsAttr, b.getStringAttr(loops));
    module->setAttr(kRecipeAttr, b.getStringAttr(recipe));
    module->setAttr(kRootStageAttr, b.getStringAttr(rootStageOf(kernel.getBody().front())));
  }
};

} // namespace
} // namespace headrace
