// Level 3: applies a kernel's recipe.
//
// Before:
//   module @relu attributes {hr.recipe = "map: parallel d0 ; ..."} { func.func @relu {
//   linalg.generic
//     over tensor<65536xf32> } }
// After:
//   func.func @relu { scf.forall { scf.for { vector.transfer_read ; arith.maximumf ;
//                                            vector.transfer_write } } }
//
// A recipe that the compiler chose and that does not fit its kernel leaves the kernel as it was:
// plain loops, right but slow, and the module says so in `hr.recipe_refused`. A user's is an error.
#include "runtime/system/Error.h"
#include "target/cpu/Passes.h"
#include "target/cpu/walk/WalkPlan.h"
#include "transform/kernels/KernelFunction.h"
#include "transform/recipe/Lowering.h"
#include "transform/recipe/Prefetch.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUAPPLYRECIPEPASS
#include "target/cpu/Passes.h.inc"

namespace {

struct CpuApplyRecipePass : impl::CpuApplyRecipePassBase<CpuApplyRecipePass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, scf::SCFDialect, tensor::TensorDialect,
                    vector::VectorDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto text = module->getAttrOfType<StringAttr>(kRecipeAttr);
    func::FuncOp kernel = kernelFunction(module);
    if (!text || !kernel)
      return;
    if (walkScheduleOf(kernel))
      return; // its loops are there already
    OwningOpRef<func::FuncOp> before = cast<func::FuncOp>(kernel->clone());
    std::string reason = tryApply(kernel, text);
    if (reason.empty())
      return;
    if (!module->hasAttr(kRecipeChosenAttr)) {
      module.emitError() << "its recipe cannot be carried out: " << reason;
      return signalPassFailure();
    }
    kernel.erase();
    module.push_back(before.release());
    module->setAttr(kRecipeRefusedAttr, StringAttr::get(&getContext(), reason));
  }

private:
  /// How far ahead operands are fetched, for `cpu-prefetch-panels`.
  static void notePrefetches(func::FuncOp kernel, const LoopModel &model) {
    Builder b(kernel.getContext());
    for (auto read : kernel.getOps<bufferization::ToTensorOp>())
      if (auto argument = dyn_cast<BlockArgument>(read.getMemref()))
        for (const Stage &stage : model.getStages())
          if (auto found = stage.prefetches.find(sourceName(read)); found != stage.prefetches.end())
            kernel.setArgAttr(argument.getArgNumber(), kPrefetchAttr,
                              b.getI64IntegerAttr(found->second));
  }

  /// Why it did not fit; empty if it did.
  std::string tryApply(func::FuncOp kernel, StringRef text) {
    std::string reason;
    ScopedDiagnosticHandler collect(&getContext(), [&](Diagnostic &diagnostic) {
      if (reason.empty())
        reason = diagnostic.str();
      return success();
    });
    try {
      LoopModel model = modelOfKernel(kernel);
      model.apply(Recipe::parse(text));
      notePrefetches(kernel, model);
      lowerToLoops(kernel, model);
    } catch (const Error &error) {
      return error.what();
    }
    if (failed(verify(kernel)))
      return reason.empty() ? "the kernel is not valid after it" : reason;
    return "";
  }
};

} // namespace
} // namespace headrace
