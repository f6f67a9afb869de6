#include "optimize/Follow.h"

#include "dialect/Hr.h"
#include "driver/RunPasses.h"
#include "transform/choices/Choices.h"
#include "transform/choices/Verbs.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace headrace::optimize {

/// Kernels of a program by name, as text that does not depend on the names of modules.
static llvm::StringMap<std::string> kernelsOf(ModuleOp program) {
  llvm::StringMap<std::string> kernels;
  for (auto launch : entryFunction(program).getOps<hr::LaunchOp>()) {
    auto module = program.lookupSymbol<ModuleOp>(launch.getKernel());
    std::string text, own = module.getSymName()->str();
    llvm::raw_string_ostream os(text);
    for (Operation &op : *module.getBody())
      op.print(os, OpPrintingFlags().useLocalScope());
    for (size_t at = 0; (at = text.find("@" + own, at)) != std::string::npos;)
      text.replace(at, own.size() + 1, "@kernel");
    kernels[kernelNameOf(launch)] = text;
  }
  return kernels;
}

std::vector<std::string> changedKernels(ModuleOp before, ModuleOp after) {
  llvm::StringMap<std::string> were = kernelsOf(before), are = kernelsOf(after);
  std::vector<std::string> changed;
  for (auto launch : entryFunction(before).getOps<hr::LaunchOp>()) {
    std::string name = kernelNameOf(launch);
    auto now = are.find(name);
    if (now != are.end() && now->second != were[name] && !llvm::is_contained(changed, name))
      changed.push_back(name);
  }
  return changed;
}

/// Level 1 follows steps with these verbs: what they change is only known of the kernels.
static bool changesOperators(const Step &step) {
  return step.choice &&
         llvm::is_contained({StringRef(verbs::fold.name), StringRef(verbs::leave.name),
                             StringRef(verbs::layout.name), StringRef(verbs::expand.name)},
                            StringRef(step.choice->verb));
}

/// Kernels whose schedule in the recipe was refused.
static std::vector<std::string> refusedKernels(const Plan &plan) {
  constexpr StringLiteral kKernel = "kernel ";
  std::vector<std::string> names;
  for (const MissedOptimization &missed : plan.missed)
    if (StringRef step = missed.step; step.consume_front(kKernel))
      names.push_back(step.str());
  return names;
}

Plan planFrozen(PlanMaker plan, const CompleteRecipe &recipe) {
  Plan made = plan(frozen(recipe));
  std::vector<std::string> refused = refusedKernels(made);
  return refused.empty() ? std::move(made) : plan(frozen(recipe.withoutSchedules(refused)));
}

Plan followed(PlanMaker plan, const Plan &now, const Step &step) {
  CompleteRecipe wanted = now.recipe.with(step);
  Plan made = plan(frozen(wanted));
  std::vector<std::string> lost = refusedKernels(made);
  if (step.kernel && llvm::is_contained(lost, step.kernel->name))
    return made;
  if (changesOperators(step))
    llvm::append_range(lost, changedKernels(*now.program, *made.program));
  return lost.empty() ? std::move(made) : planFrozen(plan, wanted.withoutSchedules(lost));
}

std::string reasonAgainst(const Step &step, const Plan &plan) {
  if (step.kernel) {
    const ProgramRecipe::Kernel *made = plan.recipe.find(step.kernel->name);
    if (std::string reason = plan.reasonAgainst("kernel " + step.kernel->name); !reason.empty())
      return reason;
    return made && made->schedule.empty()
               ? "it leaves all loops as they are, which a recipe cannot say of a kernel"
               : "";
  }
  const ProgramStep &choice = *step.choice;
  std::string reason = plan.reasonAgainst(choice.text());
  const CompleteRecipe &after = plan.recipe;
  const std::string &kernel = after.kernelOf(choice.subject);
  bool holds = after.has(choice);
  if (choice.verb == verbs::fuse.name || choice.verb == verbs::merge.name)
    holds = kernel == after.kernelOf(choice.object);
  else if (choice.verb == verbs::separate.name)
    holds = kernel == choice.subject && after.othersIn(choice.subject).empty() && reason.empty();
  else if (choice.verb == verbs::leave.name)
    holds = !after.objectOf(verbs::fold.name, choice.subject) && reason.empty();
  else if (choice.verb == verbs::slice.name)
    holds = reason.empty(); // all of them is not written
  if (holds)
    return "";
  return reason.empty() ? "the compiler makes no such choice for this program" : reason;
}

} // namespace headrace::optimize
