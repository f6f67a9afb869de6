// The CPU as a target: its passes, in order.
#include "target/cpu/interface/CpuTarget.h"

#include "analysis/cost/FeatureTiles.h"
#include "runtime/system/Sanitized.h"
#include "target/cpu/Passes.h"
#include "target/cpu/calls/CallSchedule.h"
#include "target/cpu/code/KeptKernels.h"
#include "target/cpu/cost/KernelWork.h"
#include "target/cpu/expansion/Expansions.h"
#include "target/cpu/recipe/KernelSpace.h"
#include "transform/Passes.h"
#include "transform/kernels/KernelStages.h"
#include "transform/recipe/Recipe.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Affine/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/AllInterfaces.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/TilingInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/TensorInferTypeOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/TensorTilingInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/Transforms/SubsetOpInterfaceImpl.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace headrace {
namespace {

/// Whether vectors of the target's width have an instruction for int8 matmuls.
bool hasDotProducts(const Target &target) {
  StringRef feature = target.machine().vectorBytes >= 64 ? "avx512vnni" : "avxvnni";
  return llvm::is_contained(target.needs().features, feature);
}

void addTilePasses(OpPassManager &manager, const Target &target) {
  CpuWalkRowsPassOptions walk;
  walk.rows = rowsOfWalk(target.machine().vectorRegisters);
  walk.vectorBytes = target.machine().vectorBytes;
  manager.addNestedPass<func::FuncOp>(createCpuWalkRowsPass(walk));
  manager.addPass(createCpuApplyRecipePass());
  manager.addNestedPass<func::FuncOp>(createCpuShareJoinsPass());
  CpuVectorizeStepsPassOptions steps;
  steps.vectorBytes = target.machine().vectorBytes;
  steps.dotProducts = hasDotProducts(target);
  manager.addNestedPass<func::FuncOp>(createCpuVectorizeStepsPass(steps));
  manager.addNestedPass<func::FuncOp>(createCpuLiftAccumulatorsPass());
  manager.addNestedPass<func::FuncOp>(createCpuBoundLoopsPass());
}

void addBufferPasses(OpPassManager &manager, const Target &target) {
  manager.addPass(createCpuBufferizePass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addNestedPass<func::FuncOp>(createCpuDistributeGridPass());
  CpuPlanWorkspacePassOptions workspace;
  workspace.apart = checksAccesses;
  manager.addNestedPass<func::FuncOp>(createCpuPlanWorkspacePass(workspace));
  manager.addNestedPass<func::FuncOp>(createCpuVerifyResultsPass());
  manager.addNestedPass<func::FuncOp>(createCpuPrefetchRowsPass());
  CpuPrefetchPanelsPassOptions panels;
  panels.coreBytes = static_cast<int64_t>(target.machine().rates.coreCacheBytes);
  manager.addNestedPass<func::FuncOp>(createCpuPrefetchPanelsPass(panels));
  CpuCheckKernelPassOptions options;
  options.target = target.name().str();
  manager.addPass(createCpuCheckKernelPass(options));
  manager.addNestedPass<func::FuncOp>(createVerifyLevel3Pass());
}

void addLoweringPasses(OpPassManager &manager, const Target &target) {
  manager.addPass(createCpuCallIntrinsicsPass());
  if (target.machine().policy.pairsTerms)
    manager.addNestedPass<func::FuncOp>(createCpuPairProductsPass());
  manager.addNestedPass<func::FuncOp>(createCpuLowerVectorsPass());
  CpuCopyRowsPassOptions rows;
  rows.vectorBytes = target.machine().vectorBytes;
  manager.addNestedPass<func::FuncOp>(createCpuCopyRowsPass(rows));
  manager.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createCpuBf16AsBitsPass());
  manager.addNestedPass<func::FuncOp>(createCpuApproximateMathPass());
  manager.addPass(createCpuKernelAbiPass());
  // Addresses in terms of bare arithmetic before loops become branches.
  manager.addPass(memref::createFoldMemRefAliasOpsPass());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  // Functions without a polynomial become calls, an element at a time: before vectors are gone.
  manager.addPass(createCpuPowersToFunctionsPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createConvertSCFToCFPass());
  // The lanes of an accumulator are partial results already: they are accumulated as a tree, not
  // one after the other.
  ConvertVectorToLLVMPassOptions vectors;
  vectors.reassociateFPReductions = true;
  manager.addPass(createConvertVectorToLLVMPass(vectors));
  manager.addPass(createLowerAffinePass());
  manager.addPass(arith::createArithExpandOpsPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

class CpuTarget final : public Target {
public:
  CpuTarget(std::string name, Processor processor)
      : fullName(std::move(name)), processor(std::move(processor)) {}

  StringRef name() const override { return fullName; }
  const Machine &machine() const override { return processor.machine; }
  Work workOf(ModuleOp kernel, ArrayRef<int64_t> symbols, double operations) const override {
    return workOfCpuKernel(kernel, symbols, operations, machine());
  }
  ArrayRef<const Expansion *> expansions() const override {
    static const Expansion *const all[] = {&generatedContractionOnCpu(),
                                           &generatedConvolutionOnCpu(),
                                           &generatedAttention(),
                                           &openBlasContraction(),
                                           &openBlasConvolution(),
                                           &openBlasAttention(),
                                           &int8Contraction(),
                                           &int8Convolution(),
                                           &routineForest(),
                                           &routineSort(),
                                           &choleskySystems(),
                                           &luSystems()};
    return all;
  }

  void registerDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, arith::ArithDialect, bufferization::BufferizationDialect,
                    cf::ControlFlowDialect, func::FuncDialect, linalg::LinalgDialect,
                    LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                    tensor::TensorDialect, vector::VectorDialect>();
    registerBufferization(registry);
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
  }

  /// It runs everything.
  std::string unsupportedReason(ModuleOp) const override { return ""; }
  std::string unsupportedReason(StringRef) const override { return ""; }

  void attachRecipe(func::FuncOp program, StringRef recipe) const override {
    attachStepsToKernels(program, Recipe::parse(recipe.str()));
  }

  void addProgramPasses(OpPassManager &manager) const override {
    manager.addNestedPass<func::FuncOp>(createCpuSplitWindowsPass());
  }

  void addCallPasses(OpPassManager &program) const override {
    if (machine().vectorBytes >= 64)
      program.addPass(createCpuFuseEpiloguesPass());
    program.addPass(createCpuScheduleCallsPass());
  }
  std::unique_ptr<ScheduleSpace> schedulesOfCall(hr::LibraryOp call) const override {
    return spaceOf(call);
  }

  void addSchedulePasses(OpPassManager &manager) const override {
    CpuAttachRecipePassOptions options;
    options.target = fullName;
    manager.addPass(createCpuAttachRecipePass(options));
  }

  std::vector<std::unique_ptr<ScheduleSpace>> schedules(ModuleOp kernel) const override {
    std::vector<std::unique_ptr<ScheduleSpace>> spaces;
    for (auto function : kernel.getOps<func::FuncOp>())
      if (auto space = std::make_unique<KernelSpace>(function, machine()); space->hasChoice())
        spaces.push_back(std::move(space));
    return spaces;
  }

  std::optional<Work> workUnder(ModuleOp kernel, const ScheduleRecord &schedule,
                                ArrayRef<int64_t> symbols, double operations) const override {
    return workOfCpuKernelUnder(kernel, CpuSchedule::of(schedule), symbols, operations, machine());
  }

  ArrayRef<TargetPhase> phases() const override {
    static constexpr TargetPhase all[] = {
        {"tiles", "level 3: recipes applied; tiles, loops, vectors", addTilePasses},
        {"buffers", "level 3: memory instead of values, temporaries from workspaces",
         addBufferPasses},
        {"llvm", "level 4: code for the CPU, as LLVM dialect", addLoweringPasses},
    };
    return all;
  }

  std::string engine() const override { return hostEngine; }
  CompiledKernels compile(ArrayRef<ModuleOp> kernels) const override {
    return linkIntoProcess(kernels, compileForProcess(kernels, processor));
  }
  PackagedKernels compileAot(ArrayRef<ModuleOp> kernels) const override {
    return {compileObjects(kernels, processor), {}};
  }
  std::unique_ptr<CachedCode> cachedCode(ArrayRef<ModuleOp> scheduled, CodeUse use) const override {
    return keptKernels(scheduled, processor, use);
  }
  ProcessorNeeds needs() const override { return processor.needs; }

private:
  static void registerBufferization(DialectRegistry &registry) {
    arith::registerBufferizableOpInterfaceExternalModels(registry);
    linalg::registerAllDialectInterfaceImplementations(registry);
    scf::registerBufferizableOpInterfaceExternalModels(registry);
    tensor::registerBufferizableOpInterfaceExternalModels(registry);
    vector::registerBufferizableOpInterfaceExternalModels(registry);
    tensor::registerInferTypeOpInterfaceExternalModels(registry);
    tensor::registerTilingInterfaceExternalModels(registry);
    tensor::registerSubsetOpInterfaceExternalModels(registry);
    vector::registerSubsetOpInterfaceExternalModels(registry);
    affine::registerValueBoundsOpInterfaceExternalModels(registry);
    arith::registerValueBoundsOpInterfaceExternalModels(registry);
    memref::registerValueBoundsOpInterfaceExternalModels(registry);
    scf::registerValueBoundsOpInterfaceExternalModels(registry);
    tensor::registerValueBoundsOpInterfaceExternalModels(registry);
  }

  std::string fullName;
  Processor processor;
};

} // namespace

std::unique_ptr<const Target> makeCpuTarget(StringRef name, StringRef processor) {
  return std::make_unique<CpuTarget>(
      name.str(), findProcessor(processor.empty() ? StringRef("native") : processor));
}

} // namespace headrace
