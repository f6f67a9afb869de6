#include "optimize/Plan.h"

#include "analysis/OperatorWork.h"
#include "analysis/cost/SizeHints.h"
#include "dialect/ConstantPool.h"
#include "driver/RunPasses.h"
#include "driver/Specialize.h"
#include "runtime/system/Error.h"
#include "runtime/system/ForkSafety.h"
#include "transform/choices/Choices.h"
#include "transform/choices/Verbs.h"

using namespace mlir;

namespace headrace::optimize {

namespace {

constexpr StringLiteral kSimplify = "simplify", kLayout = "layout", kSchedule = "schedule";

/// Whether a phase before kernels are formed follows all steps with this verb, or rejects them.
bool isFollowedBy(StringRef phase, const ProgramStep &step) {
  return step.verb == verbs::fold.name || step.verb == verbs::leave.name ||
         (phase == kLayout && step.verb == verbs::layout.name);
}

/// Expansions are chosen with kernels, except those of attention: whether level 1 followed one is
/// known after it ran.
bool mayBeFollowedBy(StringRef phase, const ProgramStep &step) {
  return isFollowedBy(phase, step) || step.verb == verbs::expand.name;
}

std::vector<int64_t> hintsOf(const Explanation &explanation, ModuleOp program) {
  SizeHints hints = sizeHints(entryFunction(program));
  std::vector<int64_t> symbols;
  for (unsigned i = 0; i < explanation.symbols.size(); ++i)
    symbols.push_back(std::max<int64_t>(2, hints.of(i)));
  return symbols;
}

Figures figuresOf(const Explanation &explanation, ModuleOp program) {
  std::vector<int64_t> symbols = hintsOf(explanation, program);
  Figures figures;
  figures.kernels = explanation.after.kernels;
  figures.bytes = explanation.after.bytesMoved.evaluate(symbols);
  figures.operations = explanation.after.operations.evaluate(symbols);
  if (explanation.peakBytes >= 0)
    figures.peakBytes = explanation.peakBytes;
  for (const KernelReport &kernel : explanation.kernels)
    figures.microseconds += kernel.prediction ? kernel.prediction->microseconds : 0;
  return figures;
}

} // namespace

std::string Plan::reasonAgainst(const std::string &step) const {
  for (const MissedOptimization &missed : explanation.missedOptimizations)
    if (missed.step == step)
      return missed.reason;
  return "";
}

Planner::Planner(LevelOneProgram program, const Settings &settings, const Sizes &sizes)
    : source(std::move(program)), settings(settings), sizes(sizes), engines(targetsOf(settings)) {}

Plan Planner::plan(const std::string &recipe) {
  CompilerSection section;
  Settings own = settings;
  own.recipe = recipe;
  Compiler compiler(source.context, own, source.name);
  Plan plan;
  plan.program = scheduled(compiler, recipe);
  plan.explanation = compiler.explainScheduled(*plan.program);
  plan.recipe = CompleteRecipe(plan.explanation.recipe);
  plan.figures = figuresOf(plan.explanation, *plan.program);
  return plan;
}

LevelOneProgram Planner::program() const {
  ModuleOp module = *source.module;
  return {source.name, source.context, specializeProgram(module, sizes), source.files};
}

/// The program at the checkpoint, for the steps that the recipe has still to say.
static OwningOpRef<ModuleOp> continued(ModuleOp program, const std::vector<std::string> &followed,
                                       ProgramRecipe recipe) {
  OwningOpRef<ModuleOp> copy = program.clone();
  llvm::erase_if(recipe.steps, [&](const ProgramStep &step) {
    return llvm::is_contained(followed, step.text());
  });
  giveRecipe(entryFunction(*copy), recipe);
  return copy;
}

OwningOpRef<ModuleOp> Planner::scheduled(Compiler &compiler, const std::string &text) {
  ProgramRecipe recipe = ProgramRecipe::parse(text);
  // Tensor expressions have loops of their own from the first phase on.
  if (recipe.steps.empty() || !recipe.stages.empty()) {
    OwningOpRef<ModuleOp> program = specializeProgram(*source.module, sizes);
    entryFunction(*program)->setAttr(kExplainAttr, UnitAttr::get(source.context.get()));
    compiler.runPhases(*program, kSchedule);
    return program;
  }
  simplified.phase = kSimplify;
  laidOut.phase = kLayout;
  reach(simplified, compiler, recipe, nullptr);
  reach(laidOut, compiler, recipe, &simplified);
  OwningOpRef<ModuleOp> program = continued(*laidOut.program, laidOut.followed, recipe);
  compiler.continuePhases(*program, kLayout, kSchedule);
  return program;
}

/// Makes the checkpoint anew unless the recipe says the same as its own about the phases up to it.
const Planner::Checkpoint &Planner::reach(Checkpoint &checkpoint, Compiler &compiler,
                                          const ProgramRecipe &recipe, const Checkpoint *before) {
  std::string wanted;
  for (const ProgramStep &step : recipe.steps)
    if (isFollowedBy(checkpoint.phase, step) ||
        llvm::is_contained(checkpoint.followed, step.text()))
      wanted += step.text() + "\n";
  if (checkpoint.program && wanted == checkpoint.recipe)
    return checkpoint;
  if (before) {
    checkpoint.program = continued(*before->program, before->followed, recipe);
    compiler.continuePhases(*checkpoint.program, before->phase, checkpoint.phase);
  } else {
    checkpoint.program = specializeProgram(*source.module, sizes);
    entryFunction(*checkpoint.program)->setAttr(kExplainAttr, UnitAttr::get(source.context.get()));
    compiler.runPhases(*checkpoint.program, checkpoint.phase);
  }
  std::vector<std::string> left;
  for (const ProgramStep &step : stepsToFollow(entryFunction(*checkpoint.program)))
    left.push_back(step.text());
  checkpoint.followed = before ? before->followed : std::vector<std::string>();
  checkpoint.recipe.clear();
  for (const ProgramStep &step : recipe.steps) {
    bool isFollowed =
        mayBeFollowedBy(checkpoint.phase, step) && !llvm::is_contained(left, step.text());
    if (isFollowed)
      checkpoint.followed.push_back(step.text());
    if (isFollowed || isFollowedBy(checkpoint.phase, step))
      checkpoint.recipe += step.text() + "\n";
  }
  return checkpoint;
}

} // namespace headrace::optimize
