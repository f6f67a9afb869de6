// The pipeline as prose: from what the user wrote to code, one line a pass.
#include "driver/Phases.h"

#include "dialect/ConstantData.h"
#include "dialect/ConstantPool.h"
#include "driver/CompilerMemory.h"
#include "driver/RecipePhases.h"
#include "driver/RunPasses.h"
#include "target/Passes.h"
#include "target/coarse/write/WriteMapped.h"
#include "transform/Passes.h"

#include "mlir/Transforms/Passes.h"

#include <chrono>

using namespace mlir;

namespace headrace {
namespace {

void import(OpPassManager &manager, ModuleOp, const Target &, const Settings &) {
  manager.addNestedPass<func::FuncOp>(createVerifyLevel1Pass());
}

/// Libraries compute attention as a whole: their expansion is chosen while it still is one
/// operator.
void chooseAttention(OpPassManager &program, const Target &target, StringRef expansion) {
  ChooseExpansionsPassOptions choice;
  choice.only = hr::AttentionOp::getOperationName().str();
  choice.prefer = expansion.str();
  choice.target = target.name().str();
  program.addPass(createChooseExpansionsPass(choice));
}

/// The operators that an accelerator computes as the term they were mapped to.
void writeMapped(OpPassManager &manager, const std::string &accelerator) {
  manager.addPass(coarse::createWriteMappedPass(accelerator));
  OpPassManager &program = manager.nest<func::FuncOp>();
  // Weights are put into tiles once and for all.
  program.addPass(createFoldConstantsPass());
  program.addPass(createSimplifyAlgebraPass());
  program.addPass(createCSEPass());
}

void simplify(OpPassManager &manager, ModuleOp module, const Target &target,
              const Settings &settings) {
  OpPassManager &program = manager.nest<func::FuncOp>();
  ComputeInF32PassOptions single;
  single.products = !target.machine().policy.narrowProducts;
  single.pairs = target.machine().policy.pairsTerms && !shapesLoops(module);
  if (shapesLoops(module)) {
    // A recipe speaks of the stages its author wrote: they stay what they are.
    chooseAttention(program, target, "generated");
    program.addPass(createComputeInF32Pass(single));
    program.addPass(createExpandOperatorsPass());
    return;
  }
  // While a normalization still is one operator, it can move into weights.
  program.addPass(createFoldBatchNormPass());
  program.addPass(createRecognizeAttentionPass());
  chooseAttention(program, target, settings.expansion);
  // How f16 and bf16 are computed is decided here, for every front end.
  program.addPass(createComputeInF32Pass(single));
  // Composite operators become maps and reductions, which fuse with their neighbours.
  program.addPass(createExpandOperatorsPass());
  program.addPass(createFoldConstantsPass());
  program.addPass(createSimplifyAlgebraPass());
  // Filters that lost taps are constants again: targets take operators with constant weights.
  program.addPass(createFoldConstantsPass());
  program.addPass(createCSEPass());
  if (!settings.accelerator.empty())
    writeMapped(manager, settings.accelerator);
  target.addProgramPasses(manager);
}

void layout(OpPassManager &manager, ModuleOp module, const Target &target, const Settings &) {
  OpPassManager &program = manager.nest<func::FuncOp>();
  if (shapesLoops(module)) {
    program.addPass(createSeparatePaddingPass());
    program.addPass(createVerifyLevel1Pass());
    return;
  }
  // Channels last: vectors run over channels, whatever the image's size.
  if (target.machine().policy.channelsLast)
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

void kernels(OpPassManager &manager, ModuleOp module, const Target &target,
             const Settings &settings) {
  OpPassManager &program = manager.nest<func::FuncOp>();
  // From here on numbers are what CPUs compute with.
  program.addPass(createLegalizeTypesPass());
  ChooseExpansionsPassOptions choice;
  choice.prefer = shapesLoops(module) ? "generated" : settings.expansion;
  choice.target = target.name().str();
  program.addPass(createChooseExpansionsPass(choice));
  target.addCallPasses(program);
  // Weights in the order that libraries read them.
  program.addPass(createFoldConstantsPass());
  if (target.machine().policy.readsNarrow)
    program.addPass(createReadNarrowPass());
  // Kernels of rows copy slices if they are joined.
  if (target.machine().policy.walksRows && !shapesLoops(module))
    program.addPass(createGatherToSlicesPass());
  FormKernelsPassOptions options;
  options.target = target.name().str();
  options.sharedVectorBytes = settings.sharedVectorBytes;
  program.addPass(createFormKernelsPass(options));
  // Launches compute what they read where they read it, borders of images, too.
  if (target.machine().policy.recipes == KernelPolicy::Recipes::Launches && !shapesLoops(module))
    program.addPass(createInlinePaddingPass());
  // Functions of several operators meet in one body now.
  program.addPass(createSimplifyScalarsPass());
  // Packs constant weights, once and for all.
  program.addPass(createFoldConstantsPass());
  program.addPass(createCSEPass());
  program.addPass(createVerifyLevel2Pass());
}

void schedule(OpPassManager &manager, ModuleOp, const Target &target, const Settings &settings) {
  manager.addPass(createOutlineKernelsPass());
  Targets targets = targetsOf(settings);
  // Kernels that the target cannot run go to the host.
  if (!targets.isOne()) {
    PlaceKernelsPassOptions placement;
    placement.target = targets.wanted.name().str();
    placement.fallback = targets.fallback.name().str();
    manager.addPass(createPlaceKernelsPass(placement));
    targets.addPasses(manager, targets.fallback,
                      [&](OpPassManager &kernels) { targets.fallback.addSchedulePasses(kernels); });
  }
  targets.addPasses(manager, target,
                    [&](OpPassManager &kernels) { target.addSchedulePasses(kernels); });
  // Neighbours run image by image while an image's values are in cache.
  SliceKernelsPassOptions slices;
  slices.target = target.name().str();
  manager.addPass(createSliceKernelsPass(slices));
  // Those that are not in cache when they are read need not pass through it.
  StreamResultsPassOptions streams;
  streams.target = target.name().str();
  manager.addPass(createStreamResultsPass(streams));
}

/// A phase of the target's own, over its kernels. The last one takes those of the host to code,
/// too.
void lower(OpPassManager &manager, const TargetPhase &phase, const Settings &settings) {
  Targets targets = targetsOf(settings);
  targets.addPasses(manager, targets.wanted,
                    [&](OpPassManager &kernels) { phase.build(kernels, targets.wanted); });
  if (targets.isOne() || phase.name != targets.wanted.phases().back().name)
    return;
  targets.addPasses(manager, targets.fallback, [&](OpPassManager &kernels) {
    for (const TargetPhase &host : targets.fallback.phases())
      host.build(kernels, targets.fallback);
  });
}

//===--------------------------------------------------------------------------===//
// Gradients
//===--------------------------------------------------------------------------===//

void merge(OpPassManager &manager, ModuleOp) {
  OpPassManager &program = manager.nest<func::FuncOp>();
  program.addPass(createVerifyLevel1Pass());
  // Gradients of f16 and bf16 are computed in f32, too. Products stay as narrow as the target
  // may want them.
  // Attention has the gradients of what it consists of.
  ExpandOperatorsPassOptions attention;
  attention.only = hr::AttentionOp::getOperationName().str();
  program.addPass(createExpandOperatorsPass(attention));
  ComputeInF32PassOptions single;
  single.products = false;
  program.addPass(createComputeInF32Pass(single));
  program.addPass(createSimplifyAlgebraPass());
  program.addPass(createMergeMapsPass());
  program.addPass(createCSEPass());
}

void differentiate(OpPassManager &manager, const GradientPasses &given) {
  DifferentiatePassOptions options;
  options.wrt = given.inputs;
  options.seedScalars = given.seedScalars;
  manager.addNestedPass<func::FuncOp>(createDifferentiatePass(options));
}

void share(OpPassManager &manager, ModuleOp) {
  OpPassManager &program = manager.nest<func::FuncOp>();
  // Common subexpressions of gradients and their operators: means, sums, maxima.
  program.addPass(createExpandOperatorsPass());
  program.addPass(createSimplifyAlgebraPass());
  program.addPass(createCSEPass());
  program.addPass(createVerifyLevel1Pass());
}

void split(OpPassManager &manager, const GradientPasses &given) {
  // Layouts first: values are kept in the layout in which they are computed.
  OpPassManager &program = manager.nest<func::FuncOp>();
  program.addPass(createChannelsLastPass());
  program.addPass(createSimplifyAlgebraPass());
  program.addPass(createCSEPass());
  SplitGradientPassOptions options;
  options.budget = given.budget;
  options.target = given.target;
  manager.addPass(createSplitGradientPass(options));
}

/// Gives up constants that a phase folded or packed away, and what evaluating others took. Those
/// from before the mark `made` may have been counted before.
void releaseConstants(ConstantPool &constants, size_t before, size_t made, ModuleOp program) {
  size_t released = constants.release(before, program);
  // Constants without elements took no memory.
  auto entry = program.lookupSymbol<func::FuncOp>("main");
  bool isForecast = entry && entry->hasAttr(kForecastAttr);
  if (!isForecast && released + constants.bytesSince(made) > worthReturningMemory)
    returnCompilerMemory();
}

double now() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

} // namespace

Targets targetsOf(const Settings &settings) {
  return {findTarget(settings.target), findTarget(settings.fallback)};
}

std::vector<Phase> compilerPhases(const Settings &settings) {
  const Target &target = findTarget(settings.target);
  auto with = [&](auto function) {
    return [=, &target](auto &&...program) { function(program..., target, settings); };
  };
  std::vector<Phase> phases{
      {"import", "level 1: the user's operators", with(import), with(setRecipe), nullptr},
      {"simplify", "level 1: composite operators expanded, constants evaluated, algebra applied",
       with(simplify), nullptr, nullptr},
      {"layout", "level 1: channels last, padding as separate operators", with(layout), nullptr,
       nullptr},
      {"kernels", "level 2: operators fused into kernels over linalg, weights packed",
       with(kernels), checkRecipe, nullptr},
      {"schedule", "level 3: every kernel outlined, with its recipe", with(schedule),
       with(attachRecipe), with(requireRecipe)}};
  for (const TargetPhase &phase : target.phases()) {
    auto build = [&phase, settings](OpPassManager &manager, ModuleOp) {
      lower(manager, phase, settings);
    };
    phases.push_back({phase.name, phase.summary, build, nullptr, nullptr});
  }
  return phases;
}

std::vector<Phase> gradientPhases(const GradientPasses &given, bool splits) {
  std::vector<Phase> phases{
      {"merge", "level 1: each chain of maps merged into one map", merge, nullptr, nullptr},
      {"differentiate", "level 1: gradients in addition to the results",
       [given](OpPassManager &manager, ModuleOp) { differentiate(manager, given); }, nullptr,
       given.afterwards},
      {"share", "level 1: common subexpressions of gradients and operators shared", share, nullptr,
       nullptr}};
  if (splits)
    phases.push_back({"split", "level 1: a forward and a backward program",
                      [given](OpPassManager &manager, ModuleOp) { split(manager, given); }, nullptr,
                      nullptr});
  return phases;
}

std::vector<std::pair<std::string, double>>
runPhases(ArrayRef<Phase> phases, ModuleOp program, const std::string &modelName, StringRef last,
          const std::function<void(const Phase &, PassManager &)> &prepare) {
  std::vector<std::pair<std::string, double>> milliseconds;
  ConstantPool &constants = ConstantPool::of(program.getContext());
  size_t before = constants.mark();
  constants.beginCompilation();
  for (const Phase &phase : phases) {
    double start = now();
    size_t made = constants.mark();
    if (phase.before)
      phase.before(program);
    PassManager manager(program.getContext(), ModuleOp::getOperationName());
    phase.build(manager, program);
    if (prepare)
      prepare(phase, manager);
    runPasses(manager, program, modelName, "phase '" + phase.name.str() + "'");
    requireChoices(program);
    if (phase.after)
      phase.after(program);
    releaseConstants(constants, before, made, program);
    milliseconds.emplace_back(phase.name.str(), now() - start);
    if (phase.name == last)
      break;
  }
  return milliseconds;
}

} // namespace headrace
