#include "driver/RecipePhases.h"

#include "dialect/Hr.h"
#include "driver/RunPasses.h"
#include "runtime/system/Error.h"
#include "runtime/system/Listing.h"
#include "transform/choices/Choices.h"
#include "transform/choices/RecipePlace.h"
#include "transform/choices/Suggestion.h"
#include "transform/choices/Verbs.h"
#include "transform/kernels/KernelStages.h"
#include "transform/kernels/ProgramModel.h"
#include "transform/recipe/KernelModel.h"

using namespace mlir;

namespace headrace {

/// On a program: lines of the user's recipe on stages of kernels, until kernels are formed.
static constexpr StringLiteral kGivenStagesAttr = "hr.given_stages";

bool shapesLoops(ModuleOp program) { return entryFunction(program)->hasAttr(kRecipeAttr); }

/// Whether the program's author named its stages: it was written as tensor expressions.
static bool hasAuthoredStages(func::FuncOp program) {
  return llvm::any_of(program.getOps(), [](Operation &op) { return op.hasAttr(kStageAttr); });
}

/// Names of expansions are the same for every target, so that recipes are.
static void requireKnownExpansions(const ProgramRecipe &recipe) {
  auto expands = [](const ProgramStep &step) { return step.verb == verbs::expand.name; };
  if (llvm::none_of(recipe.steps, expands))
    return;
  std::vector<std::string> names = expansionNames();
  for (const ProgramStep &step : recipe.steps)
    if (expands(step) && !llvm::is_contained(names, step.object))
      throw Error(ErrorKind::InvalidArgument,
                  placeInRecipe(step.line) + ": '" + step.text() + "': expected " + listed(names) +
                      ", got '" + step.object + "'" +
                      suggestion(step.object, SmallVector<StringRef>(names.begin(), names.end())));
}

void setRecipe(ModuleOp program, const Target &target, const Settings &settings) {
  if (settings.recipe.empty())
    return;
  if (GradientRecipe::of(settings.recipe).hasPrograms)
    throw Error(ErrorKind::InvalidArgument,
                "recipe: expected choices of one program, got 'forward:' and 'backward:', which "
                "are of a gradient");
  ProgramRecipe recipe = ProgramRecipe::parse(settings.recipe);
  requireKnownExpansions(recipe);
  for (const ProgramStep &step : recipe.steps)
    if (step.verb == verbs::keep.name || step.verb == verbs::recompute.name)
      throw Error(ErrorKind::InvalidArgument, placeInRecipe(step.line) + ": '" + step.text() +
                                                  "': only a gradient keeps values");
  func::FuncOp entry = entryFunction(program);
  giveRecipe(entry, recipe);
  if (recipe.stages.empty())
    return;
  bool shapes =
      hasAuthoredStages(entry) && target.machine().policy.recipes == KernelPolicy::Recipes::Loops;
  entry->setAttr(shapes ? kRecipeAttr : kGivenStagesAttr,
                 StringAttr::get(program.getContext(), recipe.stages));
}

void giveSplitRecipe(ModuleOp program, const std::string &text) {
  ProgramRecipe recipe = ProgramRecipe::parse(text);
  auto refuse = [](int line, const std::string &what) {
    throw Error(ErrorKind::InvalidArgument, placeInRecipe(line) + ": '" + what +
                                                "': expected layout, keep or recompute before "
                                                "'forward:' and 'backward:' in that of a gradient");
  };
  for (const ProgramStep &step : recipe.steps)
    if (step.verb != verbs::layout.name && step.verb != verbs::keep.name &&
        step.verb != verbs::recompute.name && step.verb != verbs::follow.name)
      refuse(step.line, step.text());
  for (const ProgramRecipe::Kernel &kernel : recipe.kernels)
    refuse(kernel.line, "kernel " + kernel.name + ":");
  giveRecipe(entryFunction(program), recipe);
}

void checkRecipe(ModuleOp program) { (void)scheduledProgram(entryFunction(program)); }

void attachRecipe(ModuleOp program, const Target &target, const Settings &) {
  func::FuncOp entry = entryFunction(program);
  auto stages = entry->getAttrOfType<StringAttr>(kGivenStagesAttr);
  if (!stages)
    return;
  entry->removeAttr(kGivenStagesAttr);
  try {
    target.attachRecipe(entry, stages);
  } catch (const Error &error) {
    if (!followsWherePossible(entry))
      throw;
    noteMissedOptimization(entry, "lines on stages", error.what());
  }
}

/// Kernels and calls whose schedule was rejected have the compiler's own: that is a fault of the
/// recipe's, unless it is followed if that is possible. Stages of devices name their kernels
/// themselves.
static void refuseSchedule(func::FuncOp entry, const std::string &kernel, StringRef message,
                           bool namesKernel = false) {
  std::string placed = inLinesOf(message, scheduleLines(entry, kernel),
                                 namesKernel ? "" : "kernel '" + kernel + "': ");
  if (!followsWherePossible(entry))
    throw Error(ErrorKind::InvalidArgument, placed);
  noteMissedOptimization(entry, "kernel " + kernel, placed);
}

/// A rejected schedule of a device's kernel, with the stage's name in the program: "recipe, line 1,
/// '/reduce: rows lanes=3': lanes: ...".
static std::string withNameInProgram(StringRef refused, const std::string &kernel, StringRef root) {
  auto [place, step] = refused.split('\'');
  return place.ends_with(", ") ? place.str() + "'" + namedInProgram(step, kernel, root)
                               : refused.str();
}

void requireRecipe(ModuleOp program, const Target &, const Settings &settings) {
  if (settings.recipe.empty() && !shapesLoops(program))
    return;
  func::FuncOp entry = entryFunction(program);
  for (auto call : entry.getOps<hr::LibraryOp>())
    if (auto refused = call->getAttrOfType<StringAttr>(kRecipeRefusedAttr)) {
      refuseSchedule(entry, kernelNameOf(call), refused.getValue());
      call->removeAttr(kRecipeRefusedAttr);
    }
  KernelNames names;
  for (auto launch : entry.getOps<hr::LaunchOp>()) {
    std::string name = names.next(launch.getName());
    auto kernel = program.lookupSymbol<ModuleOp>(launch.getKernel());
    std::string refused = textAttribute(kernel, kRecipeRefusedAttr);
    if (refused.empty() || kernel->hasAttr(kRecipeChosenAttr))
      continue;
    if (shapesLoops(program))
      throw Error(ErrorKind::InvalidArgument,
                  "kernel '" + kernelNameOf(launch) +
                      "': its recipe cannot be carried out: " + refused);
    bool namesKernel = kernel->hasAttr(kRootStageAttr);
    if (namesKernel)
      refused = withNameInProgram(refused, name, textAttribute(kernel, kRootStageAttr));
    refuseSchedule(entry, kernelNameOf(launch), refused, namesKernel);
    kernel->setAttr(kRecipeChosenAttr, UnitAttr::get(program.getContext()));
  }
  // Several launches may share a kernel.
  for (auto launch : entry.getOps<hr::LaunchOp>())
    if (auto kernel = program.lookupSymbol<ModuleOp>(launch.getKernel());
        followsWherePossible(entry))
      kernel->removeAttr(kRecipeRefusedAttr);
  forgetScheduleLines(entry);
  Choices(entry).finishAll();
  requireChoices(program);
}

void requireChoices(ModuleOp program) {
  for (auto function : program.getOps<func::FuncOp>())
    if (auto refused = function->getAttrOfType<StringAttr>(kRefusedStepAttr))
      throw Error(ErrorKind::InvalidArgument, refused.str());
}

std::string writtenRecipe(ModuleOp program, const std::string &rates) {
  func::FuncOp entry = entryFunction(program);
  ProgramRecipe recipe;
  for (Operation &op : entry.getBody().front())
    if (auto launch = dyn_cast<hr::LaunchOp>(op)) {
      auto kernel = program.lookupSymbol<ModuleOp>(launch.getKernel());
      recipe.kernels.push_back({kernelNameOf(launch), textAttribute(kernel, kRecipeAttr)});
    } else if (op.hasAttr(kRecipeAttr)) {
      recipe.kernels.push_back(
          {kernelNameOf(&op), op.getAttrOfType<StringAttr>(kRecipeAttr).str()});
    }
  return "# machine parameters " + rates + "\n" + choicesText(entry) + recipe.text();
}

} // namespace headrace
