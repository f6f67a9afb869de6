#include "optimize/Plan.h"

#include "analysis/cost/RatesFile.h"
#include "dialect/ConstantData.h"
#include "driver/Contexts.h"
#include "driver/RecipePhases.h"
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

/// The steps of the recipe that matter for the program at a checkpoint.
std::string askedOf(const Planner::Checkpoint &checkpoint, const ProgramRecipe &recipe) {
  std::string steps;
  for (const ProgramStep &step : recipe.steps)
    if (isFollowedBy(checkpoint.phase, step) ||
        llvm::is_contained(checkpoint.followed, step.text()))
      steps += step.text() + "\n";
  return steps;
}

bool isMadeFor(const Planner::Checkpoint &checkpoint, const ProgramRecipe &recipe) {
  return checkpoint.program && askedOf(checkpoint, recipe) == checkpoint.recipe;
}

} // namespace

std::string Plan::reasonAgainst(const std::string &step) const {
  for (const MissedOptimization &each : missed)
    if (each.step == step)
      return each.reason;
  return "";
}

Planner::Planner(LevelOneProgram program, const Settings &settings, const Sizes &sizes)
    : source(std::move(program)), settings(settings), sizes(sizes), engines(targetsOf(settings)) {
  addTarget(*source.context, engines.wanted); // the model may have been loaded for another one
}

Plan Planner::plan(const std::string &recipe) {
  CompilerSection section;
  Settings own = settings;
  own.recipe = recipe;
  Compiler compiler(source.context, own, source.name);
  Plan plan = planOf(scheduled(compiler, recipe));
  plan.figures = plan.sequence.figures(engines);
  return plan;
}

Plan Planner::tried(const std::string &text) {
  ProgramRecipe recipe = ProgramRecipe::parse(text);
  if (recipe.steps.empty() || !recipe.stages.empty())
    return plan(text);
  const Checkpoint &before = beforeKernelsUnder(text);
  Plan plan = planPart(before.program.get().clone(), before.followed, recipe);
  plan.figures = plan.sequence.figures(engines);
  return plan;
}

Plan Planner::planOf(OwningOpRef<ModuleOp> scheduled) const {
  Plan plan;
  plan.recipe = CompleteRecipe(writtenRecipe(*scheduled, hashOf(engines.wanted.machine().rates)));
  plan.missed = reasonsOf(entryFunction(*scheduled));
  plan.sequence = Sequence::of(*scheduled, engines);
  plan.program = std::move(scheduled);
  return plan;
}

LevelOneProgram Planner::program() const {
  ModuleOp module = *source.module;
  return {source.name, source.context, specializeProgram(module, sizes), source.files};
}

/// The program before any phase, for forecasts.
OwningOpRef<ModuleOp> Planner::specialized() const {
  OwningOpRef<ModuleOp> copy = specializeProgram(*source.module, sizes);
  auto flag = UnitAttr::get(source.context.get());
  entryFunction(*copy)->setAttr(kExplainAttr, flag);
  entryFunction(*copy)->setAttr(kForecastAttr, flag);
  return copy;
}

/// The program at the checkpoint, for the steps that the recipe has still to say.
static OwningOpRef<ModuleOp> continued(OwningOpRef<ModuleOp> program,
                                       const std::vector<std::string> &followed,
                                       ProgramRecipe recipe) {
  llvm::erase_if(recipe.steps, [&](const ProgramStep &step) {
    return llvm::is_contained(followed, step.text());
  });
  giveRecipe(entryFunction(*program), recipe);
  return program;
}

OwningOpRef<ModuleOp> Planner::scheduled(Compiler &compiler, const std::string &text) {
  ProgramRecipe recipe = ProgramRecipe::parse(text);
  // Tensor expressions have loops of their own from the first phase on. A recipe that says nothing
  // leaves choices open that others state: its program is no beginning for theirs.
  if (recipe.steps.empty() || !recipe.stages.empty()) {
    OwningOpRef<ModuleOp> program = specialized();
    compiler.runPhases(*program, kSchedule);
    return program;
  }
  reachLayout(compiler, recipe);
  OwningOpRef<ModuleOp> program =
      continued(laidOut.program->clone(), laidOut.followed, std::move(recipe));
  compiler.continuePhases(*program, kLayout, kSchedule);
  return program;
}

void Planner::reachLayout(Compiler &compiler, const ProgramRecipe &recipe) {
  simplified.phase = kSimplify;
  laidOut.phase = kLayout;
  reach(simplified, compiler, recipe, nullptr);
  reach(laidOut, compiler, recipe, &simplified);
}

const Planner::Checkpoint *Planner::beforeKernels(const std::string &text) {
  ProgramRecipe recipe = ProgramRecipe::parse(text);
  if (recipe.steps.empty() || !recipe.stages.empty())
    return nullptr;
  CompilerSection section;
  Settings own = settings;
  own.recipe = text;
  Compiler compiler(source.context, own, source.name);
  reachLayout(compiler, recipe);
  return &laidOut;
}

const Planner::Checkpoint &Planner::beforeKernelsUnder(const std::string &text) {
  ProgramRecipe recipe = ProgramRecipe::parse(text);
  bool isSimplified = isMadeFor(simplified, recipe);
  if (isSimplified && isMadeFor(laidOut, recipe))
    return laidOut;
  CompilerSection section;
  Settings own = settings;
  own.recipe = text;
  Compiler compiler(source.context, own, source.name);
  triedSimplified.phase = kSimplify;
  triedLaidOut.phase = kLayout;
  if (!isSimplified)
    reach(triedSimplified, compiler, recipe, nullptr);
  triedLaidOut.program = nullptr; // it may be made of another program than the one tried last
  return reach(triedLaidOut, compiler, recipe, isSimplified ? &simplified : &triedSimplified);
}

Plan Planner::planPart(OwningOpRef<ModuleOp> part, const std::vector<std::string> &followed,
                       const ProgramRecipe &recipe) {
  CompilerSection section;
  Settings own = settings;
  own.recipe = recipe.text();
  Compiler compiler(source.context, own, source.name);
  OwningOpRef<ModuleOp> program = continued(std::move(part), followed, recipe);
  compiler.continuePhases(*program, kLayout, kSchedule);
  return planOf(std::move(program));
}

/// Makes the checkpoint anew unless the recipe says the same as its own about the phases up to it.
const Planner::Checkpoint &Planner::reach(Checkpoint &checkpoint, Compiler &compiler,
                                          const ProgramRecipe &recipe, const Checkpoint *before) {
  if (isMadeFor(checkpoint, recipe))
    return checkpoint;
  if (before) {
    checkpoint.program = continued(before->program.get().clone(), before->followed, recipe);
    compiler.continuePhases(*checkpoint.program, before->phase, checkpoint.phase);
  } else {
    checkpoint.program = specialized();
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
