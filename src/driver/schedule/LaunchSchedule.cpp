#include "driver/schedule/LaunchSchedule.h"

#include "driver/Compiler.h"
#include "driver/Contexts.h"
#include "driver/RunPasses.h"
#include "frontend/expr/ImportExpression.h"
#include "runtime/system/Error.h"
#include "transform/kernels/KernelStages.h"
#include "transform/recipe/KernelModel.h"

using namespace mlir;

namespace headrace {
namespace {

/// A program as far as one phase.
struct PartlyCompiled {
  std::shared_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> program;

  func::FuncOp entry() { return entryFunction(*program); }
};

PartlyCompiled compileTo(StringRef phase, const std::vector<expr::Stage> &outputs,
                         const std::string &target, const std::string &recipe) {
  Settings settings;
  settings.target = target;
  settings.expansion = "generated";
  settings.recipe = recipe;
  PartlyCompiled result{contextFor(findTarget(target)), {}};
  result.program = expr::importExpression(outputs, *result.context, "schedule");
  Compiler(result.context, settings, "schedule").runPhases(*result.program, phase);
  return result;
}

} // namespace

LaunchSchedule::LaunchSchedule(std::vector<expr::Stage> given, std::string target)
    : outputs(std::move(given)), targetName(std::move(target)) {
  if (findTarget(targetName).machine().policy.recipes != KernelPolicy::Recipes::Launches)
    throw Error(ErrorKind::InvalidArgument,
                "schedule: expected a device as the target of launches, got '" + targetName + "'");
  PartlyCompiled kernels = compileTo("kernels", outputs, targetName, "");
  names = stageNames(kernels.entry());
  launches = launchesWith("");
}

std::vector<LaunchSchedule::Launch> LaunchSchedule::launchesWith(const std::string &recipe) const {
  PartlyCompiled scheduled = compileTo("schedule", outputs, targetName, recipe);
  std::vector<Launch> result;
  KernelNames kernels;
  for (auto launch : scheduled.entry().getOps<hr::LaunchOp>()) {
    auto module = scheduled.program->lookupSymbol<ModuleOp>(launch.getKernel());
    // A kernel without launches of its own, such as a recurrence, has no recipe.
    auto text = [&](StringRef name) {
      auto value = module->getAttrOfType<StringAttr>(name);
      return value ? value.getValue() : StringRef();
    };
    std::string lines =
        namedInProgram(text(kRecipeAttr), kernels.next(launch.getName()), text(kRootStageAttr));
    for (StringRef line : llvm::split(StringRef(lines).rtrim(), '\n')) {
      auto [stage, said] = line.split(':');
      if (!stage.empty())
        result.push_back({stage.str(), said.trim().str()});
    }
  }
  return result;
}

void LaunchSchedule::apply(const std::string &added) {
  std::string changed = text + added;
  if (!added.empty() && added.back() != '\n')
    changed += '\n';
  launches = launchesWith(changed);
  text = std::move(changed);
}

std::string LaunchSchedule::launchOf(const std::string &stage) const {
  std::vector<std::string> candidates;
  for (const std::string &name : names)
    if (name == stage)
      candidates = {name};
    else if (StringRef(name).ends_with("/" + stage) && !llvm::is_contained(names, stage))
      candidates.push_back(name);
  if (candidates.size() != 1)
    throw Error(ErrorKind::InvalidArgument, "schedule: expected one of the stages " +
                                                llvm::join(names, ", ") + ", got '" + stage + "'");
  for (const Launch &launch : launches)
    if (launch.stage == candidates.front())
      return launch.said;
  return "";
}

} // namespace headrace
