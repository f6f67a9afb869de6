// Level 2 -> 3: chooses each kernel's recipe.
//
// Before:
//   module @relu { func.func @relu(...) { linalg.generic {hr.stage = "map"} ... } }
// After:
//   module @relu attributes {hr.recipe = "map: split d0 by 64 -> d0.o d0.v\nmap: vectorize d0.v\n"}
//
// Kernels that walk blocks of rows have none: the walk is their loops. A recipe that is already
// there (written by the user, loaded, tuned) is kept.
#include "dialect/ExpectedSizes.h"
#include "runtime/system/Error.h"
#include "target/cpu/Passes.h"
#include "target/cpu/recipe/ChooseRecipe.h"
#include "target/cpu/walk/WalkPlan.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUATTACHRECIPEPASS
#include "target/cpu/Passes.h.inc"

namespace {

struct CpuAttachRecipePass : impl::CpuAttachRecipePassBase<CpuAttachRecipePass> {
  using CpuAttachRecipePassBase::CpuAttachRecipePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto funcs = module.getOps<func::FuncOp>();
    if (funcs.empty())
      return;
    func::FuncOp kernel = *funcs.begin();
    // Known until here: equal kernels stay equal, whatever sizes were expected of them.
    auto forget = llvm::make_scope_exit([&] { module->removeAttr(kExpectedSizesAttr); });
    Builder b(&getContext());
    if (findWalk(kernel)) {
      // Blocks of rows are its grid, and `cpu-walk-rows` writes the loops inside them.
      module->setAttr(kKindAttr, b.getStringAttr("walk"));
      module->setAttr(kLoopsAttr, b.getStringAttr("blocks of rows"));
      if (module->hasAttr(kRecipeAttr))
        module->setAttr(
            kRecipeRefusedAttr,
            b.getStringAttr("it walks blocks of rows, which have no schedule of their own"));
      return;
    }
    auto chosen = b.getStringAttr(chooseCpuRecipe(kernel, machineOfTarget(target)).text());
    if (!module->hasAttr(kRecipeAttr))
      module->setAttr(kRecipeAttr, chosen);
    // One that was written by the compiler before is its choice still.
    if (module->getAttr(kRecipeAttr) == chosen)
      module->setAttr(kRecipeChosenAttr, b.getUnitAttr());
    LoopModel model = modelOfKernel(kernel);
    try {
      model.apply(Recipe::parse(module->getAttrOfType<StringAttr>(kRecipeAttr).getValue()));
    } catch (const Error &error) {
      module->setAttr(kRecipeRefusedAttr, b.getStringAttr(error.what()));
      return;
    }
    module->setAttr(kKindAttr, b.getStringAttr(model.kind()));
    for (const Stage &stage : model.getStages())
      if (stage.isOutput)
        module->setAttr(kLoopsAttr, b.getStringAttr(LoopModel::summary(stage)));
  }
};

} // namespace
} // namespace headrace
