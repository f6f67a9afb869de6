#include "driver/RecipePhases.h"

#include "dialect/Hr.h"
#include "driver/RunPasses.h"
#include "runtime/system/Error.h"
#include "transform/recipe/KernelModel.h"
#include "transform/recipe/KernelStages.h"
#include "transform/recipe/ProgramModel.h"

using namespace mlir;

namespace headrace {

bool shapesLoops(const Target &target, const Settings &settings) {
  return !settings.recipe.empty() && target.asHost();
}

static bool launchesByRecipe(const Target &target, const Settings &settings) {
  return !settings.recipe.empty() && target.asDevice();
}

void setRecipe(ModuleOp program, const Target &target, const Settings &settings) {
  if (shapesLoops(target, settings))
    entryFunction(program)->setAttr(kRecipeAttr,
                                    StringAttr::get(program.getContext(), settings.recipe));
}

void checkRecipe(ModuleOp program) { (void)scheduledProgram(entryFunction(program)); }

void attachRecipe(ModuleOp program, const Target &target, const Settings &settings) {
  if (launchesByRecipe(target, settings))
    target.asDevice()->attachRecipe(entryFunction(program), settings.recipe);
}

void requireRecipe(ModuleOp program, const Target &target, const Settings &settings) {
  if (!launchesByRecipe(target, settings))
    return;
  KernelNames names;
  for (auto launch : entryFunction(program).getOps<hr::LaunchOp>()) {
    std::string name = names.next(launch.getName());
    auto kernel = program.lookupSymbol<ModuleOp>(launch.getKernel());
    if (std::string refused = textAttribute(kernel, kRecipeRefusedAttr); !refused.empty())
      throw Error(ErrorKind::InvalidArgument,
                  "recipe, '" +
                      namedInProgram(refused, name, textAttribute(kernel, kRootStageAttr)));
  }
}

} // namespace headrace
