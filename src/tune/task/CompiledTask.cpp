#include "tune/task/CompiledTask.h"

#include "dialect/ConstantPool.h"
#include "driver/CompiledConstants.h"
#include "driver/Compiler.h"
#include "driver/KernelPrograms.h"
#include "driver/LevelOneProgram.h"
#include "driver/Predict.h"
#include "driver/ProgramBuilder.h"
#include "driver/RunPasses.h"
#include "driver/Specialize.h"
#include "driver/TunedSchedules.h"
#include "package/Writer.h"
#include "runtime/system/Error.h"
#include "runtime/system/ForkSafety.h"
#include "target/link/Link.h"
#include "transform/choices/Choices.h"
#include "transform/kernels/ValueNumbers.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace mlir;

namespace headrace::tune {

namespace {

/// What all tasks of a model share.
struct Source {
  LevelOneProgram program;
  Settings settings;
  Targets targets;
};

/// A kernel scheduled in one way; other ways that keep its form are predicted from it.
struct Planned {
  OwningOpRef<ModuleOp> program;
  ModuleOp module;  // of the kernel; null if the program is not one kernel
  std::string name; // by which recipes call it there
  std::vector<std::unique_ptr<ScheduleSpace>> spaces;
  StepPrediction prediction;
  double operations = 0;
};

class CompiledTask final : public KernelTask {
public:
  CompiledTask(std::shared_ptr<Source> source, KernelProgram kernel)
      : source(std::move(source)), kernel(std::move(kernel)) {
    own = plan(nullptr);
    // Compiled alone it has to be the one kernel that it is in the model.
    if (own.module) {
      const Target &target = this->source->targets.of(own.module);
      machineName = machineOfResults(target);
      for (const auto &space : own.spaces)
        first.schedules.push_back(space->proposed());
    }
  }

  /// Why it cannot be tuned; empty if it can.
  std::string reasonAgainst() const {
    if (!own.module)
      return "compiled alone, it is more than one kernel";
    return own.spaces.empty() ? "it has one schedule only" : "";
  }
  void addUse() { ++count; }

  const std::string &name() const override { return kernel.name; }
  const std::string &fingerprint() const override { return kernel.fingerprint; }
  int uses() const override { return count; }
  const std::string &machine() const override { return machineName; }
  TunedRecord record(const Candidate &candidate, double microseconds,
                     double defaultMicroseconds) const override {
    return {kernel.fingerprint, kernel.anchor,       machineName,  generatorVersion,
            kernel.name,        candidate.schedules, microseconds, defaultMicroseconds};
  }

  Candidate proposed() const override { return first; }
  std::vector<Candidate> sampled(size_t count, uint64_t seed) const override;
  std::optional<Candidate> mutated(const Candidate &candidate,
                                   std::mt19937_64 &random) const override;
  std::string unsupportedReason(const Candidate &candidate) const override;

  double predictedMicroseconds(const Candidate &candidate) override {
    auto [work, estimate] = workOf(candidate);
    return estimate.microseconds;
  }
  Features features(const Candidate &candidate) override {
    auto [work, estimate] = workOf(candidate);
    return featuresOf(candidate, work, estimate);
  }
  double lowerBoundMicroseconds() const override;
  std::optional<double> countedMicroseconds(const Candidate &candidate) override;
  void writePackage(const Candidate &candidate, const std::filesystem::path &path) override;

private:
  /// A compiler that rejects the candidate's schedules if they are not legal.
  Compiler compilerOf(const Candidate *candidate) const;
  ProgramRecipe::Kernel linesOf(const Candidate &candidate) const;
  /// The kernel's program with the schedules of the candidate (null: the compiler's).
  OwningOpRef<ModuleOp> programWith(const Candidate *candidate) const;
  Planned plan(const Candidate *candidate) const;
  std::pair<Work, Estimate> workOf(const Candidate &candidate);
  std::optional<Work> workUnder(const Planned &planned, const Candidate &candidate) const;

  std::shared_ptr<Source> source;
  KernelProgram kernel;
  int count = 1;
  std::string machineName;
  Candidate first;
  Planned own;
  /// Plans of other forms of the kernel, such as weights packed by other columns.
  std::vector<Planned> forms;
};

ProgramRecipe::Kernel CompiledTask::linesOf(const Candidate &candidate) const {
  std::string lines;
  for (const auto &[space, schedule] : llvm::zip_equal(own.spaces, candidate.schedules)) {
    std::string line = space->recipe(schedule);
    lines += line + (StringRef(line).ends_with("\n") ? "" : "\n");
  }
  return {own.name, lines};
}

OwningOpRef<ModuleOp> CompiledTask::programWith(const Candidate *candidate) const {
  OwningOpRef<ModuleOp> program = ModuleOp(*kernel.program).clone();
  std::vector<ProgramRecipe::Kernel> kernels;
  if (candidate)
    kernels.push_back(linesOf(*candidate));
  addKernels(*program, {}, kernels);
  return program;
}

Compiler CompiledTask::compilerOf(const Candidate *candidate) const {
  Settings settings = source->settings;
  ProgramRecipe recipe;
  if (candidate)
    recipe.kernels.push_back(linesOf(*candidate));
  settings.recipe = recipe.text();
  return {source->program.context, settings, kernel.name};
}

Planned CompiledTask::plan(const Candidate *candidate) const {
  CompilerSection section;
  Planned planned;
  planned.program = programWith(candidate);
  compilerOf(candidate).continuePhases(*planned.program, "layout", "schedule");
  func::FuncOp entry = entryFunction(*planned.program);
  auto launches = entry.getOps<hr::LaunchOp>();
  if (llvm::range_size(launches) != 1 || !entry.getOps<hr::LibraryOp>().empty())
    return planned;
  hr::LaunchOp found = *launches.begin();
  planned.name = kernelNameOf(found);
  planned.module = planned.program->lookupSymbol<ModuleOp>(found.getKernel());
  planned.spaces = source->targets.of(planned.module).schedules(planned.module);
  Program steps = buildProgram(entry);
  std::vector<StepPrediction> predictions =
      predictSteps(steps, *planned.program, source->targets, {}, /*threads=*/1);
  for (auto [step, prediction] : llvm::zip_equal(steps.steps, predictions))
    if (step.kind == Step::Kind::Kernel) {
      planned.prediction = std::move(prediction);
      planned.operations = static_cast<double>(step.cost.operations.evaluate({}));
    }
  return planned;
}

std::vector<Candidate> CompiledTask::sampled(size_t count, uint64_t seed) const {
  std::vector<Candidate> result(1, first);
  for (size_t stage = 0; stage < own.spaces.size(); ++stage) {
    std::vector<ScheduleRecord> records =
        headrace::sampled(*own.spaces[stage], count, seed + stage);
    std::vector<Candidate> combined;
    for (size_t i = 0; i < std::max(records.size(), result.size()); ++i) {
      Candidate each = result[i % result.size()];
      if (!records.empty())
        each.schedules[stage] = records[i % records.size()];
      combined.push_back(std::move(each));
    }
    result = std::move(combined);
  }
  return result;
}

std::optional<Candidate> CompiledTask::mutated(const Candidate &candidate,
                                               std::mt19937_64 &random) const {
  Candidate result = candidate;
  size_t stage = random() % own.spaces.size();
  const ScheduleSpace &space = *own.spaces[stage];
  ScheduleRecord &schedule = result.schedules[stage];
  constexpr unsigned kOtherKind = 12; // one in so many changes the kind
  if (std::vector<ScheduleRecord> others = space.otherKinds();
      random() % kOtherKind == 0 && !others.empty())
    schedule = others[random() % others.size()];
  size_t changes = 1 + random() % 2;
  for (size_t i = 0; i < changes && !schedule.parameters.empty(); ++i) {
    std::string name = schedule.parameters[random() % schedule.parameters.size()].first;
    std::vector<int64_t> domain = space.domainOf(schedule, name);
    if (!domain.empty())
      schedule.set(name, domain[random() % domain.size()]);
  }
  if (result == candidate || !unsupportedReason(result).empty())
    return std::nullopt;
  return result;
}

std::string CompiledTask::unsupportedReason(const Candidate &candidate) const {
  if (candidate.schedules.size() != own.spaces.size())
    return "expected " + std::to_string(own.spaces.size()) + " schedules, got " +
           std::to_string(candidate.schedules.size());
  for (const auto &[space, schedule] : llvm::zip_equal(own.spaces, candidate.schedules))
    if (std::string reason = space->unsupportedReason(schedule); !reason.empty())
      return reason;
  return "";
}

std::optional<Work> CompiledTask::workUnder(const Planned &planned,
                                            const Candidate &candidate) const {
  const Target &target = source->targets.of(planned.module);
  if (candidate.schedules.size() != 1)
    return std::nullopt;
  std::optional<Work> work =
      target.workUnder(planned.module, candidate.schedules.front(), {}, planned.operations);
  if (work)
    llvm::append_range(work->streams, planned.prediction.accesses);
  return work;
}

std::pair<Work, Estimate> CompiledTask::workOf(const Candidate &candidate) {
  const Target &target = source->targets.of(own.module);
  // A simulator's count is what is measured: to predict by it would be to measure.
  if (target.countedMicroseconds(own.module))
    return {target.workOf(own.module, {}, own.operations), Estimate()};
  std::optional<Work> work = workUnder(own, candidate);
  for (size_t i = 0; i < forms.size() && !work; ++i)
    work = workUnder(forms[i], candidate);
  if (!work) {
    // A form of its own: the kernel is planned anew, and serves others of that form.
    Planned planned = plan(&candidate);
    if (!planned.module)
      return {Work(), planned.prediction.estimate};
    work = target.workOf(planned.module, {}, planned.operations);
    llvm::append_range(work->streams, planned.prediction.accesses);
    constexpr size_t kMaxForms = 16;
    if (target.workUnder(planned.module, candidate.schedules.front(), {}, planned.operations) &&
        forms.size() < kMaxForms)
      forms.push_back(std::move(planned));
  }
  return {*work, target.costModel().estimate(*work)};
}

double CompiledTask::lowerBoundMicroseconds() const {
  const Rates &rates = source->targets.of(own.module).machine().rates;
  double memory = 0;
  for (const KernelPrediction::Least &least : own.prediction.least)
    memory = std::max(memory, least.bytes / rates.bytesPerMicrosecond(least.cacheBytes * 2));
  double speed = rates.operationsPerMicrosecond(OperationKind::Product, DType::F32);
  return std::max(memory, speed > 0 ? own.operations / speed : 0);
}

std::optional<double> CompiledTask::countedMicroseconds(const Candidate &candidate) {
  const Target &target = source->targets.of(own.module);
  if (!target.countedMicroseconds(own.module))
    return std::nullopt;
  Planned planned = plan(&candidate);
  return planned.module ? target.countedMicroseconds(planned.module) : std::nullopt;
}

void CompiledTask::writePackage(const Candidate &candidate, const std::filesystem::path &path) {
  CompilerSection section;
  CompiledConstants constants(source->program.context.get());
  OwningOpRef<ModuleOp> program = programWith(&candidate);
  AotCode code;
  LoweredProgram lowered = compilerOf(&candidate).compileLaidOut(*program, code);
  PackageContents contents;
  contents.producer = "headrace";
  contents.code.push_back(source->targets.of(own.module).needs());
  PackagedProgram packaged;
  packaged.interface = lowered.program;
  packaged.interface.steps.clear();
  packaged.interface.buffers.clear();
  packaged.interface.constants.clear();
  packaged.versions.push_back({0, {}, std::move(lowered.program), std::move(lowered.notes)});
  contents.programs.push_back(std::move(packaged));
  std::string object = linkKernels(code.objects);
  Bytes bytes = std::as_bytes(std::span(object));
  headrace::writePackage(path, contents, {&bytes, 1});
}

} // namespace

ModelTasks tasksOf(const Model &model, const Settings &given,
                   const std::vector<std::optional<int64_t>> &sizes) {
  auto source = std::make_shared<Source>(Source{model.copyOfProgram(), given, targetsOf(given)});
  source->settings.tuning = "never";
  CompilerSection section;
  Compiler compiler(source->program.context, source->settings, source->program.name);
  OwningOpRef<ModuleOp> laidOut = specializeProgram(*source->program.module, sizes);
  compiler.runPhases(*laidOut, "layout");
  numberValues(entryFunction(*laidOut));
  OwningOpRef<ModuleOp> scheduled = laidOut->clone();
  compiler.continuePhases(*scheduled, "layout", "schedule");
  source->settings.recipe.clear();
  ModelTasks tasks;
  std::map<std::string, CompiledTask *> known;
  std::vector<std::string> unknown;
  for (KernelProgram &kernel : kernelPrograms(*laidOut, *scheduled)) {
    if (auto found = known.find(kernel.fingerprint); found != known.end()) {
      if (found->second)
        found->second->addUse();
      continue;
    }
    std::string fingerprint = kernel.fingerprint, name = kernel.name;
    std::string reason;
    try {
      auto task = std::make_unique<CompiledTask>(source, std::move(kernel));
      reason = task->reasonAgainst();
      known[fingerprint] = reason.empty() ? task.get() : nullptr;
      if (reason.empty())
        tasks.kernels.push_back(std::move(task));
    } catch (const Error &error) {
      known[fingerprint] = nullptr;
      reason = error.what();
    }
    if (!reason.empty())
      tasks.leftOut.push_back(name + ": " + reason);
  }
  return tasks;
}

} // namespace headrace::tune
