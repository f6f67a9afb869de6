// Level 2 -> 3: chooses each kernel's schedule and writes the recipe that carries it out.
//
// Before:
//   module @relu { func.func @relu(...) { linalg.generic ... } }
// After:
//   module @relu attributes {hr.schedule = {family = "elementwise", grid = [8192], vector = 64}} {
//     func.func @relu(...) { linalg.generic ... }
//     module @recipe { transform.named_sequence @recipe(%kernel) { ... } }
//   }
//
// A schedule that is already there (loaded, edited, tuned) is kept.
#include "target/cpu/ChooseSchedule.h"
#include "target/cpu/Passes.h"
#include "transform/Recipe.h"

#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUATTACHRECIPEPASS
#include "target/cpu/Passes.h.inc"

namespace {

struct CpuAttachRecipePass : impl::CpuAttachRecipePassBase<CpuAttachRecipePass> {
  using CpuAttachRecipePassBase::CpuAttachRecipePassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<transform::TransformDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto funcs = module.getOps<func::FuncOp>();
    if (funcs.empty())
      return;
    func::FuncOp kernel = *funcs.begin();
    Machine machine;
    machine.vectorBytes = vectorBytes;
    machine.vectorRegisters = vectorRegisters;
    std::optional<Schedule> schedule;
    if (auto given = module->getAttrOfType<DictionaryAttr>(kScheduleAttr))
      schedule = Schedule::fromAttribute(given);
    if (!schedule)
      schedule = chooseCpuSchedule(kernel, machine);
    module->setAttr(kScheduleAttr, schedule->toAttribute(&getContext()));
    OwningOpRef<ModuleOp> recipe =
        parseSourceString<ModuleOp>(recipeText(*schedule, kernel), &getContext());
    if (!recipe)
      return signalPassFailure();
    (*recipe)->setAttr(SymbolTable::getSymbolAttrName(),
                       StringAttr::get(&getContext(), kRecipeName));
    module.push_back(recipe.release());
  }
};

} // namespace
} // namespace headrace
