#include "driver/TunedSchedules.h"

#include "dialect/ConstantPool.h"
#include "driver/KernelPrograms.h"
#include "driver/RecipePhases.h"
#include "driver/RunPasses.h"
#include "transform/choices/Choices.h"
#include "transform/kernels/ValueNumbers.h"
#include "transform/recipe/KernelModel.h"

#include "tune/store/TunedStore.h"
#include <cstdio>
#include <mutex>
#include <set>

using namespace mlir;

namespace headrace {

std::string machineOfResults(const Target &target) {
  ProcessorNeeds needs = target.needs();
  std::string text = target.machine().rates.machine + " " + needs.architecture + " " + needs.level;
  for (const std::string &feature : needs.features)
    text += "+" + feature;
  return text;
}

void warnOfTuning(const std::string &line) {
  static std::mutex mutex;
  static std::set<std::string> said;
  std::lock_guard lock(mutex);
  if (said.insert(line).second)
    std::fprintf(stderr, "headrace: %s\n", line.c_str());
}

bool hasResults(const Settings &settings) {
  return tune::TunedStore::of(settings.tuning) != nullptr;
}

/// Why the schedules cannot be those of the kernel; empty if they can.
static std::string reasonAgainst(const std::vector<std::unique_ptr<ScheduleSpace>> &spaces,
                                 const tune::TunedRecord &record) {
  if (spaces.size() != record.schedules.size())
    return "expected " + std::to_string(spaces.size()) + " schedules, got " +
           std::to_string(record.schedules.size());
  for (const auto &[space, schedule] : llvm::zip_equal(spaces, record.schedules)) {
    ScheduleRecord own = space->proposed();
    for (const ScheduleRecord &other : space->otherKinds())
      if (other.kind == schedule.kind)
        own = other;
    if (own.kind != schedule.kind)
      return "the kernel has no schedule '" + schedule.kind + "'";
    for (const auto &[name, value] : schedule.parameters)
      if (!own.has(name))
        return "'" + schedule.kind + "' has no parameter '" + name + "'";
    if (std::string reason = space->unsupportedReason(schedule); !reason.empty())
      return reason;
  }
  return "";
}

std::vector<ProgramRecipe::Kernel> tunedKernels(ModuleOp laidOut, const Settings &settings,
                                                const Targets &targets,
                                                llvm::function_ref<void(ModuleOp)> schedule) {
  std::vector<ProgramRecipe::Kernel> kernels;
  std::shared_ptr<const tune::TunedStore> store = tune::TunedStore::of(settings.tuning);
  if (!store || shapesLoops(laidOut))
    return kernels;
  for (const std::string &fault : store->faults())
    warnOfTuning("results of tuning: " + fault);
  if (llvm::none_of(possibleAnchors(laidOut),
                    [&](const std::string &anchor) { return store->hasAnchor(anchor); }))
    return kernels;
  ConstantPool &constants = ConstantPool::of(laidOut.getContext());
  size_t before = constants.mark();
  {
    OwningOpRef<ModuleOp> numbered = laidOut.clone();
    numberValues(entryFunction(*numbered));
    OwningOpRef<ModuleOp> scheduled = numbered->clone();
    schedule(*scheduled);
    ProgramRecipe given = ProgramRecipe::parse(settings.recipe);
    for (KernelProgram &kernel : kernelPrograms(*numbered, *scheduled)) {
      auto module = scheduled->lookupSymbol<ModuleOp>(kernel.module);
      const Target &target = targets.of(module);
      std::string machine = machineOfResults(target);
      const tune::TunedRecord *record = store->find(kernel.fingerprint, machine);
      std::string other = store->otherMachine(kernel.fingerprint, machine);
      if (!record && !other.empty())
        warnOfTuning("results of tuning on '" + other + "' are left out: this machine is '" +
                     machine + "'");
      auto isNamed = [&](const ProgramRecipe::Kernel &other) { return other.name == kernel.name; };
      if (!record || llvm::any_of(given.kernels, isNamed) || llvm::any_of(kernels, isNamed))
        continue;
      std::vector<std::unique_ptr<ScheduleSpace>> spaces = target.schedules(module);
      if (std::string reason = reasonAgainst(spaces, *record); !reason.empty()) {
        warnOfTuning("kernel '" + kernel.name + "': its tuned schedule is left out: " + reason);
        continue;
      }
      std::string lines;
      for (const auto &[space, own] : llvm::zip_equal(spaces, record->schedules)) {
        std::string line = space->recipe(own);
        lines += line + (StringRef(line).ends_with("\n") ? "" : "\n");
      }
      kernels.push_back({kernel.name, lines});
    }
  }
  constants.release(before, laidOut);
  return kernels;
}

void addKernels(ModuleOp program, ProgramRecipe recipe, ArrayRef<ProgramRecipe::Kernel> kernels) {
  func::FuncOp entry = entryFunction(program);
  recipe.steps = stepsToFollow(entry);
  if (followsWherePossible(entry))
    recipe.steps.push_back({"follow", "recipe", "where-possible"});
  for (const ProgramRecipe::Kernel &kernel : kernels) {
    // Operators that an accelerator computes are a kernel already.
    bool isFormed = false;
    for (auto launch : entry.getOps<hr::LaunchOp>())
      if (auto module = program.lookupSymbol<ModuleOp>(launch.getKernel());
          module && kernelNameOf(launch) == kernel.name) {
        module->setAttr(kRecipeAttr, StringAttr::get(program.getContext(), kernel.schedule));
        isFormed = true;
      }
    if (!isFormed)
      recipe.kernels.push_back(kernel);
  }
  giveRecipe(entry, recipe);
}

void noteTuned(ModuleOp scheduled, ArrayRef<ProgramRecipe::Kernel> kernels) {
  for (auto launch : entryFunction(scheduled).getOps<hr::LaunchOp>()) {
    std::string name = kernelNameOf(launch);
    auto isNamed = [&](const ProgramRecipe::Kernel &kernel) { return kernel.name == name; };
    if (auto module = scheduled.lookupSymbol<ModuleOp>(launch.getKernel());
        module && llvm::any_of(kernels, isNamed))
      module->setAttr(kTunedAttr, UnitAttr::get(scheduled.getContext()));
  }
}

} // namespace headrace
