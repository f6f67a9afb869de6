// The pipeline as prose: from what the user wrote to code, one line a pass.
#include "driver/Phases.h"

#include "target/Passes.h"
#include "transform/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace headrace {
namespace {

void import(OpPassManager &manager, const Target &, const Settings &) {
  manager.addNestedPass<func::FuncOp>(createVerifyLevel1Pass());
}

/// A processor's recipe shapes loops; a device's says how kernels are launched, whatever they are.
bool shapesLoops(const Target &target, const Settings &settings) {
  return !settings.recipe.empty() && target.asHost();
}

void simplify(OpPassManager &manager, const Target &target, const Settings &settings) {
  OpPassManager &program = manager.nest<func::FuncOp>();
  ComputeInSinglePassOptions single;
  single.products = !target.machine().isDevice;
  if (shapesLoops(target, settings)) {
    // A recipe speaks of the stages its author wrote: they stay what they are.
    program.addPass(createComputeInSinglePass(single));
    program.addPass(createExpandOperatorsPass());
    return;
  }
  // While a normalization still is one operator, it can move into weights.
  program.addPass(createFoldBatchNormPass());
  // Half precision is decided here, for every front end.
  program.addPass(createComputeInSinglePass(single));
  // Coarse operators become maps and reductions, which fuse with their neighbours.
  program.addPass(createExpandOperatorsPass());
  program.addPass(createFoldConstantsPass());
  program.addPass(createSimplifyAlgebraPass());
  program.addPass(createCSEPass());
}

void layout(OpPassManager &manager, const Target &target, const Settings &settings) {
  OpPassManager &program = manager.nest<func::FuncOp>();
  if (shapesLoops(target, settings)) {
    program.addPass(createSeparatePaddingPass());
    program.addPass(createVerifyLevel1Pass());
    return;
  }
  // Channels last: vectors run over channels, whatever the image's size.
  program.addPass(createChannelsLastPass());
  program.addPass(createFoldConstantsPass());
  // Pointwise convolutions are matrix products from here on.
  program.addPass(createSimplifyAlgebraPass());
  program.addPass(createSeparatePaddingPass());
  program.addPass(createFoldConstantsPass());
  program.addPass(createSimplifyAlgebraPass());
  program.addPass(createCSEPass());
  program.addPass(createVerifyLevel1Pass());
}

void kernels(OpPassManager &manager, const Target &target, const Settings &settings) {
  OpPassManager &program = manager.nest<func::FuncOp>();
  ChooseExpansionsPassOptions choice;
  choice.prefer = shapesLoops(target, settings) ? "generated" : settings.expansion;
  choice.target = target.name().str();
  program.addPass(createChooseExpansionsPass(choice));
  // Weights in the order that libraries read them.
  program.addPass(createFoldConstantsPass());
  if (target.machine().isDevice)
    program.addPass(createReadNarrowPass());
  FormKernelsPassOptions options;
  options.vectorBytes = target.machine().vectorBytes;
  options.vectorRegisters = target.machine().vectorRegisters;
  options.sharedVectorBytes = settings.sharedVectorBytes;
  options.device = target.machine().isDevice;
  program.addPass(createFormKernelsPass(options));
  // Functions of several operators meet in one body now.
  program.addPass(createSimplifyScalarsPass());
  // Packs constant weights, once and for all.
  program.addPass(createFoldConstantsPass());
  program.addPass(createCSEPass());
  program.addPass(createVerifyLevel2Pass());
}

void schedule(OpPassManager &manager, const Target &target, const Settings &) {
  manager.addPass(createOutlineKernelsPass());
  target.addSchedulePasses(manager.nest<ModuleOp>());
}

void tiles(OpPassManager &manager, const Target &target, const Settings &) {
  target.addTilePasses(manager.nest<ModuleOp>());
}

void buffers(OpPassManager &manager, const Target &target, const Settings &) {
  OpPassManager &kernels = manager.nest<ModuleOp>();
  target.addBufferPasses(kernels);
  kernels.addNestedPass<func::FuncOp>(createVerifyLevel3Pass());
}

void lower(OpPassManager &manager, const Target &target, const Settings &) {
  target.addLoweringPasses(manager.nest<ModuleOp>());
}

constexpr Phase kPhases[] = {
    {"import", "level 1: the operators the user wrote", import},
    {"simplify", "level 1: coarse operators expanded, constants evaluated, algebra applied",
     simplify},
    {"layout", "level 1: channels last, padding apart", layout},
    {"kernels", "level 2: operators fused into kernels over linalg, weights packed", kernels},
    {"schedule", "level 3: every kernel outlined, with its recipe", schedule},
    {"tiles", "level 3: recipes applied; tiles, loops, vectors", tiles},
    {"buffers", "level 3: memory in place of values, temporaries from workspaces", buffers},
    {"llvm", "level 4: the host's own code, as LLVM dialect", lower},
};

} // namespace

ArrayRef<Phase> compilerPhases() { return kPhases; }

} // namespace headrace
