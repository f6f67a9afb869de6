// Level 2 -> 3: chooses each kernel's recipe.
//
// Before:
//   module @relu { func.func @relu(...) { linalg.generic {hr.stage = "map"} ... } }
// After:
//   module @relu attributes {hr.recipe = "map: split d0 by 64 -> d0.o d0.v\nmap: vectorize d0.v\n"}
//
// A kernel that reduces something and stays plain loops says why in `hr.recipe_notes`.
//
// A recipe that is already there (written by the user, loaded, tuned) is kept, and one that gives
// the schedule by its kind (`relu: points vector=32`) is written out. Kernels that walk blocks of
// rows have such a line alone: the walk is their loops.
#include "dialect/ExpectedSizes.h"
#include "runtime/system/Error.h"
#include "target/Slices.h"
#include "target/cpu/Passes.h"
#include "target/cpu/recipe/ScheduleKernel.h"
#include "target/cpu/recipe/SliceKernel.h"
#include "transform/choices/RecipePlace.h"
#include "transform/kernels/KernelFunction.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUATTACHRECIPEPASS
#include "target/cpu/Passes.h.inc"

namespace {

std::string lineOf(const KernelScheduler &scheduler, const CpuSchedule &schedule) {
  return scheduler.stage().str() + ": " + schedule.text();
}

/// Takes the schedule that the text gives; returns why that is not possible, and leaves the one
/// there was.
std::string take(StringAttr text, const KernelScheduler &scheduler, CpuSchedule &schedule) {
  try {
    std::vector<ScheduleLine> lines = CpuSchedule::parse(text.getValue());
    const ScheduleLine &line = lines.front();
    if (lines.size() != 1)
      return "expected one line on the kernel's schedule, got " + std::to_string(lines.size());
    std::string step = placeInRecipe(line.line) + ", '" + line.stage + ": " + line.text() + "': ";
    if (line.stage != scheduler.stage())
      return step + "expected the stage '" + scheduler.stage().str() +
             "', which computes the kernel's result";
    CpuSchedule wanted = scheduler.propose(CpuSchedule::kindNamed(line.kind));
    wanted.take(line);
    std::string refused = scheduler.refusalOf(wanted);
    if (!refused.empty())
      return step + refused;
    schedule = wanted;
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

/// Why the steps cannot be carried out on the kernel's loops; empty if they can.
std::string refusalOf(StringRef steps, func::FuncOp kernel) {
  try {
    std::vector<std::string> kinds(CpuSchedule::kindNames().begin(),
                                   CpuSchedule::kindNames().end());
    modelOfKernel(kernel).apply(Recipe::parse(steps, kinds));
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

struct CpuAttachRecipePass : impl::CpuAttachRecipePassBase<CpuAttachRecipePass> {
  using CpuAttachRecipePassBase::CpuAttachRecipePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp kernel = kernelFunction(module);
    if (!kernel)
      return;
    // Known until here: equal kernels stay equal, whatever sizes were expected of them.
    auto forget = llvm::make_scope_exit([&] { module->removeAttr(kExpectedSizesAttr); });
    Builder b(&getContext());
    KernelScheduler scheduler(kernel, machineOfTarget(target));
    CpuSchedule schedule = scheduler.propose();
    auto given = module->getAttrOfType<StringAttr>(kRecipeAttr);
    bool givesSchedule = given && beginsWithSchedule(given, CpuSchedule::kindNames());
    std::string refused = givesSchedule ? take(given, scheduler, schedule) : "";
    if (schedule.kind == CpuSchedule::Kind::Walk) {
      // Blocks of rows are its grid, and `cpu-walk-rows` writes the loops inside them.
      if (given && !givesSchedule)
        refused = "it iterates over blocks of rows: expected a line such as '" +
                  lineOf(scheduler, schedule) + "'";
      if (!refused.empty())
        module->setAttr(kRecipeRefusedAttr, b.getStringAttr(refused));
      // One whose operators cancelled each other copies blocks: no stage is left to have a line.
      bool onlyCopies = scheduler.stage().empty();
      module->setAttr(kRecipeAttr,
                      b.getStringAttr(onlyCopies ? "" : lineOf(scheduler, schedule) + "\n"));
      if (refused.empty() && schedule == scheduler.propose())
        module->setAttr(kRecipeChosenAttr, b.getUnitAttr());
      module->setAttr(kKindAttr, b.getStringAttr("walk"));
      module->setAttr(kLoopsAttr, b.getStringAttr("blocks of rows"));
      return;
    }
    auto chosen = b.getStringAttr(scheduler.write(scheduler.propose()).text());
    if (given && !givesSchedule)
      refused = refusalOf(given.getValue(), kernel);
    // A schedule that is rejected is the user's fault, and the compiler's own stands in for it.
    if (!refused.empty())
      module->setAttr(kRecipeRefusedAttr, b.getStringAttr(refused));
    if (!given || !refused.empty())
      module->setAttr(kRecipeAttr, chosen);
    else if (givesSchedule)
      module->setAttr(kRecipeAttr, b.getStringAttr(scheduler.write(schedule).text()));
    // One that was written by the compiler before is its choice still.
    if (refused.empty() && module->getAttr(kRecipeAttr) == chosen)
      module->setAttr(kRecipeChosenAttr, b.getUnitAttr());
    LoopModel model = modelOfKernel(kernel);
    try {
      model.apply(Recipe::parse(module->getAttrOfType<StringAttr>(kRecipeAttr).getValue()));
    } catch (const Error &error) {
      module->setAttr(kRecipeRefusedAttr, b.getStringAttr(error.what()));
      return;
    }
    module->setAttr(kKindAttr, b.getStringAttr(model.kind()));
    if (std::string reason = scheduler.whyPlain();
        !reason.empty() && scheduler.reduces() && module->hasAttr(kRecipeChosenAttr))
      module->setAttr(kRecipeNotesAttr, b.getStringAttr("plain loops: " + reason));
    for (const Stage &stage : model.getStages())
      if (stage.isOutput)
        module->setAttr(kLoopsAttr, b.getStringAttr(LoopModel::summary(stage)));
    if (std::optional<SmallVector<int64_t>> slices = slicesOfKernel(kernel, model))
      module->setAttr(kSlicesAttr, b.getDenseI64ArrayAttr(*slices));
  }
};

} // namespace
} // namespace headrace
