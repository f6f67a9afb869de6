#include "optimize/SliceStep.h"

#include "analysis/cost/RatesFile.h"
#include "dialect/Hr.h"
#include "driver/RecipePhases.h"
#include "driver/RunPasses.h"
#include "target/Passes.h"
#include "target/Slices.h"
#include "transform/choices/Choices.h"
#include "transform/choices/Verbs.h"

using namespace mlir;

namespace headrace::optimize {

/// The entry function, and kernels without bodies, with their attributes only.
static OwningOpRef<ModuleOp> withoutContents(ModuleOp scheduled) {
  OpBuilder b(scheduled.getContext());
  OwningOpRef<ModuleOp> program = ModuleOp::create(scheduled.getLoc());
  b.setInsertionPointToEnd(program->getBody());
  for (Operation &op : *scheduled.getBody()) {
    auto kernel = dyn_cast<ModuleOp>(op);
    if (!kernel) {
      b.clone(op);
      continue;
    }
    auto empty = b.create<ModuleOp>(kernel.getLoc(), kernel.getSymName());
    for (NamedAttribute attribute : kernel->getDiscardableAttrs())
      empty->setDiscardableAttr(attribute.getName(), attribute.getValue());
  }
  return program;
}

Plan withSlices(const Plan &now, const ProgramStep &step, const Targets &targets) {
  Plan plan;
  plan.program = withoutContents(now.program.get());
  func::FuncOp entry = entryFunction(*plan.program);
  // As if no slices had been chosen yet, and with none but those of the recipe.
  ProgramRecipe slices, others;
  for (const ProgramStep &each : now.recipe.parts().steps)
    if (each.verb != verbs::slice.name)
      others.steps.push_back(each);
    else if (each.subject != step.subject)
      slices.steps.push_back(each);
  slices.steps.push_back(step);
  others.steps.push_back({verbs::plan.name.str(), verbs::plan.subject.str(), "greedily"});
  slices.steps.push_back({verbs::follow.name.str(), verbs::follow.subject.str(), "where-possible"});
  Builder b(entry.getContext());
  SmallVector<Attribute> made;
  for (const ProgramStep &each : others.steps)
    made.push_back(b.getStringAttr(each.text()));
  entry->setAttr(kChoicesAttr, b.getArrayAttr(made));
  entry->removeAttr(kWhyNotAttr);
  for (auto launch : entry.getOps<hr::LaunchOp>())
    launch->removeAttr(kSlicesAttr);
  giveRecipe(entry, slices);
  PassManager manager(entry.getContext(), ModuleOp::getOperationName());
  SliceKernelsPassOptions options;
  options.target = targets.wanted.name().str();
  manager.addPass(createSliceKernelsPass(options));
  runPasses(manager, *plan.program, "slices", "phase 'schedule'");
  std::string rates = hashOf(targets.wanted.machine().rates);
  plan.recipe = CompleteRecipe(writtenRecipe(*plan.program, rates));
  plan.missed = reasonsOf(entry);
  return plan;
}

} // namespace headrace::optimize
