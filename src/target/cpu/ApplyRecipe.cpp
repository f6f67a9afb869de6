// Level 3: applies a kernel's recipe.
//
// Before:
//   func.func @relu { linalg.generic over tensor<65536xf32> } ; module @recipe { ... }
// After:
//   func.func @relu { scf.forall { scf.for { vector.transfer_read ; arith.maximumf ;
//                                            vector.transfer_write } } }
//
// A recipe that does not fit its kernel leaves the kernel as it was: plain loops, right but slow,
// and the module says so in `hr.recipe_refused`.
#include "target/cpu/Passes.h"
#include "transform/Recipe.h"

#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/IR/TransformOps.h"
#include "mlir/Dialect/Transform/Transforms/TransformInterpreterUtils.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUAPPLYRECIPEPASS
#include "target/cpu/Passes.h.inc"

namespace {

struct CpuApplyRecipePass : impl::CpuApplyRecipePassBase<CpuApplyRecipePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto recipe = module.lookupSymbol<ModuleOp>(kRecipeName);
    auto funcs = module.getOps<func::FuncOp>();
    if (!recipe || funcs.empty())
      return;
    recipe->remove();
    OwningOpRef<ModuleOp> owned(recipe);
    func::FuncOp kernel = *funcs.begin();
    OwningOpRef<func::FuncOp> before = cast<func::FuncOp>(kernel->clone());

    std::string reason;
    ScopedDiagnosticHandler collect(&getContext(), [&](Diagnostic &diagnostic) {
      if (reason.empty())
        reason = diagnostic.str();
      return success();
    });
    Operation *sequence = SymbolTable::lookupSymbolIn(recipe, kRecipeName);
    transform::TransformOptions options;
    bool applied =
        sequence &&
        succeeded(transform::applyTransformNamedSequence(module, sequence, recipe, options)) &&
        succeeded(verify(module));
    if (applied)
      return;
    for (func::FuncOp func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      func.erase();
    module.push_back(before.release());
    module->setAttr("hr.recipe_refused", StringAttr::get(&getContext(), reason));
  }
};

} // namespace
} // namespace headrace
