#include "optimize/Plan.h"

#include "analysis/cost/SizeHints.h"
#include "dialect/ConstantPool.h"
#include "analysis/OperatorWork.h"
#include "driver/RunPasses.h"
#include "driver/Specialize.h"
#include "runtime/system/Error.h"
#include "runtime/system/ForkSafety.h"
#include "transform/choices/Choices.h"
#include "transform/choices/Verbs.h"

using namespace mlir;

namespace headrace::optimize {

namespace {

constexpr StringLiteral kLayout = "layout", kSchedule = "schedule";

/// Whether level 1 may follow a step with this verb before kernels are formed.
bool isEarly(const ProgramStep &step) {
  return llvm::is_contained({StringRef(verbs::fold.name), StringRef(verbs::leave.name),
                             StringRef(verbs::layout.name), StringRef(verbs::expand.name)},
                            StringRef(step.verb));
}

/// Expansions are chosen with kernels, but for attention: whether level 1 followed one is known
/// after it ran.
bool isEarlyForSure(const ProgramStep &step) {
  return isEarly(step) && step.verb != verbs::expand.name;
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
    : source(std::move(program)), settings(settings), sizes(sizes),
      engines(targetsOf(settings)) {}

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

OwningOpRef<ModuleOp> Planner::scheduled(Compiler &compiler, const std::string &text) {
  ProgramRecipe recipe = ProgramRecipe::parse(text);
  std::string early;
  for (const ProgramStep &step : recipe.steps)
    if (isEarlyForSure(step) || llvm::is_contained(followedBefore, step.text()))
      early += step.text() + "\n";
  // Tensor expressions have loops of their own from the first phase on.
  if (recipe.steps.empty() || !recipe.stages.empty()) {
    OwningOpRef<ModuleOp> program = specializeProgram(*source.module, sizes);
    entryFunction(*program)->setAttr(kExplainAttr, UnitAttr::get(source.context.get()));
    compiler.runPhases(*program, kSchedule);
    return program;
  }
  if (!checkpoint || early != checkpointRecipe)
    makeCheckpoint(compiler, recipe, early);
  OwningOpRef<ModuleOp> program = checkpoint->clone();
  func::FuncOp entry = entryFunction(*program);
  llvm::erase_if(recipe.steps, [&](const ProgramStep &step) {
    return llvm::is_contained(followedBefore, step.text());
  });
  giveRecipe(entry, recipe);
  compiler.continuePhases(*program, kLayout, kSchedule);
  return program;
}

void Planner::makeCheckpoint(Compiler &compiler, const ProgramRecipe &recipe,
                             const std::string &early) {
  OwningOpRef<ModuleOp> program = specializeProgram(*source.module, sizes);
  func::FuncOp entry = entryFunction(*program);
  entry->setAttr(kExplainAttr, UnitAttr::get(source.context.get()));
  compiler.runPhases(*program, kLayout);
  checkpoint = std::move(program);
  std::vector<std::string> left;
  for (const ProgramStep &step : stepsToFollow(entryFunction(*checkpoint)))
    left.push_back(step.text());
  followedBefore.clear();
  checkpointRecipe.clear();
  for (const ProgramStep &step : recipe.steps) {
    bool isFollowed = isEarly(step) && !llvm::is_contained(left, step.text());
    if (isFollowed)
      followedBefore.push_back(step.text());
    if (isFollowed || isEarlyForSure(step))
      checkpointRecipe += step.text() + "\n";
  }
}

} // namespace headrace::optimize
