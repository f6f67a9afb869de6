#include "driver/Compiler.h"

#include "analysis/OperatorWork.h"
#include "analysis/cost/RatesFile.h"
#include "dialect/ConstantPool.h"
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "driver/CompiledConstants.h"
#include "driver/CompilerMemory.h"
#include "driver/Predict.h"
#include "driver/ProgramBuilder.h"
#include "driver/RecipePhases.h"
#include "driver/RunPasses.h"
#include "driver/TunedSchedules.h"
#include "runtime/system/Error.h"
#include "transform/choices/Choices.h"
#include "transform/kernels/KernelStages.h"
#include "transform/kernels/ValueNumbers.h"
#include "transform/recipe/KernelModel.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace headrace {
namespace {

/// Reads, writes and work of one operator on its own.
void addOperator(MovementReport &report, Operation &op, bool isOutput, const SizeHints &sizes) {
  auto candidate = dyn_cast<hr::OperatorInterface>(op);
  if (!candidate || isa<hr::ConstantOp, hr::ReshapeOp, hr::CheckOp>(op))
    return;
  report.kernels += 1;
  auto bytes = [](Value value) {
    return toDimExpr(byteCount(cast<RankedTensorType>(value.getType())));
  };
  for (unsigned i = 0; i < op.getNumOperands(); ++i)
    report.bytesMoved = report.bytesMoved + toDimExpr(bytesRead(candidate, i, sizes));
  report.bytesMoved = report.bytesMoved + bytes(op.getResult(0));
  report.operations =
      report.operations + toDimExpr(candidate.getMovement().operations(op.getContext()));
  if (!isOutput)
    report.intermediateBytes = report.intermediateBytes + bytes(op.getResult(0));
}

/// Why the launches, library calls and checks do not run where the target is, in order.
std::vector<std::string> reasonsElsewhere(func::FuncOp function) {
  std::vector<std::string> reasons;
  for (Operation &op : function.getBody().front())
    if (isa<hr::LaunchOp, hr::LibraryOp, hr::CheckOp>(op)) {
      auto reason = op.getAttrOfType<StringAttr>(kElsewhereAttr);
      reasons.push_back(reason ? reason.str() : "");
    }
  return reasons;
}

MovementReport movementBefore(func::FuncOp function) {
  MovementReport report;
  SizeHints sizes = sizeHints(function);
  Operation *ret = function.getBody().front().getTerminator();
  for (Operation &op : function.getBody().front()) {
    bool isOutput =
        op.getNumResults() == 1 && llvm::is_contained(ret->getOperands(), op.getResult(0));
    addOperator(report, op, isOutput, sizes);
  }
  return report;
}

} // namespace

Compiler::Compiler(std::shared_ptr<MLIRContext> context, const Settings &settings,
                   std::string modelName)
    : context(std::move(context)), settings(settings), modelName(std::move(modelName)),
      targets(targetsOf(settings)) {}

std::vector<Phase> Compiler::phases() const {
  std::vector<Phase> all = compilerPhases(settings);
  auto layout = llvm::find_if(all, [](const Phase &phase) { return phase.name == "layout"; });
  if (numbersValues)
    layout->after = [](ModuleOp program) { headrace::numberValues(entryFunction(program)); };
  return all;
}

void Compiler::runPhases(ModuleOp program, StringRef last) {
  std::vector<Phase> all = phases();
  auto indexOf = [&](StringRef name) {
    return llvm::find_if(all, [&](const Phase &phase) { return phase.name == name; }) - all.begin();
  };
  size_t schedules = static_cast<size_t>(indexOf("kernels"));
  if (!hasResults(settings) || (!last.empty() && static_cast<size_t>(indexOf(last)) < schedules)) {
    phaseMilliseconds = headrace::runPhases(all, program, modelName, last);
    return;
  }
  ConstantPool &constants = ConstantPool::of(context.get());
  size_t before = constants.mark();
  phaseMilliseconds = headrace::runPhases(ArrayRef(all).take_front(schedules), program, modelName);
  runTunedPhases(ArrayRef(all).drop_front(schedules), program, last);
  constants.release(before, program);
}

/// Runs the phases from `kernels` on, with the schedules that tuning found. A program that cannot
/// follow them is compiled without.
void Compiler::runTunedPhases(ArrayRef<Phase> left, ModuleOp program, StringRef last) {
  auto run = [&](ArrayRef<Phase> phases, ModuleOp module, StringRef end) {
    return headrace::runPhases(phases, module, modelName, end);
  };
  auto append = [&](std::vector<std::pair<std::string, double>> times) {
    llvm::append_range(phaseMilliseconds, times);
  };
  std::vector<ProgramRecipe::Kernel> tuned =
      tunedKernels(program, settings, targets, [&](ModuleOp copy) { run(left, copy, "schedule"); });
  if (tuned.empty())
    return append(run(left, program, last));
  OwningOpRef<ModuleOp> untuned = program.clone();
  ProgramRecipe recipe = ProgramRecipe::parse(settings.recipe);
  addKernels(program, recipe, tuned);
  // A schedule that is rejected is an error of these phases.
  llvm::append_range(recipe.kernels, tuned);
  Settings own = settings;
  own.recipe = recipe.text();
  std::vector<Phase> all = compilerPhases(own);
  try {
    append(run(ArrayRef(all).take_back(left.size()), program, last));
    noteTuned(program, tuned);
  } catch (const Error &error) {
    warnOfTuning(modelName + ": compiled without results of tuning: " + error.what());
    program.getBodyRegion().takeBody(untuned->getBodyRegion());
    append(run(left, program, last));
  }
}

void Compiler::continuePhases(ModuleOp program, StringRef done, StringRef last) {
  std::vector<Phase> all = phases();
  auto isDone = llvm::find_if(all, [&](const Phase &phase) { return phase.name == done; });
  ArrayRef<Phase> left = ArrayRef(all).drop_front(isDone - all.begin() + 1);
  phaseMilliseconds = headrace::runPhases(left, program, modelName, last);
}

Compiler::KeptByTarget Compiler::lowerUnknownKernels(ModuleOp program, CodeUse use,
                                                     llvm::function_ref<void()> whenScheduled) {
  std::vector<Phase> all = phases();
  auto isSchedule = [](const Phase &phase) { return phase.name == "schedule"; };
  ArrayRef<Phase> lowering(&*llvm::find_if(all, isSchedule) + 1, all.data() + all.size());
  runPhases(program, "schedule");
  if (whenScheduled)
    whenScheduled();
  KeptByTarget kept;
  for (const Target *target : targets.all())
    if (auto code = target->cachedCode(targets.kernelsOf(program, *target), use))
      kept[target] = std::move(code);
  auto isKept = [&](ModuleOp kernel) {
    auto code = kept.find(&targets.of(kernel));
    return code != kept.end() && code->second->has(*kernel.getSymName());
  };
  SmallVector<ModuleOp> kernels(program.getOps<ModuleOp>());
  auto moveTo = [](ModuleOp kernel, ModuleOp place) {
    kernel->moveBefore(place.getBody(), place.getBody()->end());
  };
  // Launches of kernels that are elsewhere would be invalid: it is the others that move.
  OwningOpRef<ModuleOp> unknown = ModuleOp::create(program.getLoc());
  for (ModuleOp kernel : kernels)
    if (!isKept(kernel))
      moveTo(kernel, *unknown);
  for (auto &[name, milliseconds] : headrace::runPhases(lowering, *unknown, modelName))
    phaseMilliseconds.emplace_back(name, milliseconds);
  // In the order they had, whatever was known: a package has the same bytes each time.
  for (ModuleOp kernel : kernels)
    moveTo(kernel, program);
  return kept;
}

LoweredProgram Compiler::described(ModuleOp program) {
  LoweredProgram result;
  KernelNames names;
  auto launches = entryFunction(program).getOps<hr::LaunchOp>();
  auto launch = launches.begin();
  result.notes.recipe = writtenRecipe(program, hashOf(targets.wanted.machine().rates));
  result.program = buildProgram(entryFunction(program));
  result.program.name = modelName;
  std::vector<std::string> elsewhere = reasonsElsewhere(entryFunction(program));
  auto reason = elsewhere.begin();
  for (Step &step : result.program.steps) {
    ProgramNotes::StepNote &note = result.notes.steps.emplace_back();
    note.kind = step.symbol;
    if (step.kind != Step::Kind::Transfer && reason != elsewhere.end())
      note.unsupportedReason = *reason++;
    if (step.kind != Step::Kind::Kernel)
      continue;
    std::string name = names.next((*launch++).getName());
    auto module = program.lookupSymbol<ModuleOp>(step.symbol);
    note.kind = textAttribute(module, kKindAttr);
    note.schedule = textAttribute(module, kLoopsAttr);
    note.recipe = textAttribute(module, kRecipeAttr);
    if (module->hasAttr(kRootStageAttr))
      note.recipe = namedInProgram(note.recipe, name, textAttribute(module, kRootStageAttr));
    note.notes = textAttribute(module, kRecipeNotesAttr);
    if (module->hasAttr(kTunedAttr))
      note.source = "tuned";
    if (std::string refused = textAttribute(module, kRecipeRefusedAttr); !refused.empty())
      note.schedule += " (refused: " + refused + ")";
    step.workspaceBytes = workspaceOf(module);
  }
  return result;
}

namespace {

/// Tells the steps of other engines what they run; returns the distinct images.
std::vector<DeviceImage> addImages(Program &program, ArrayRef<KernelImage> kernels) {
  std::vector<DeviceImage> images;
  llvm::StringMap<const KernelImage *> byName;
  llvm::StringSet<> known;
  for (const KernelImage &kernel : kernels) {
    byName[kernel.kernel] = &kernel;
    if (known.insert(kernel.image.name).second)
      images.push_back(kernel.image);
  }
  for (Step &step : program.steps) {
    if (step.kind != Step::Kind::Kernel || step.engine == hostEngine)
      continue;
    const KernelImage *kernel = byName.lookup(step.symbol);
    if (!kernel)
      throw InternalError("kernel '" + step.symbol + "' has no code for '" + step.engine + "'");
    step.symbol = kernel->image.name;
    step.launches = kernel->launches;
    step.deviceWorkspaceBytes = kernel->workspaceBytes;
  }
  return images;
}

} // namespace

std::shared_ptr<const Executable> Compiler::compile(ModuleOp program) {
  auto [plan, code] = compileParts(program);
  return std::make_shared<Executable>(std::move(plan), std::move(code));
}

std::pair<Program, ProgramCode> Compiler::compileParts(ModuleOp program) {
  CompiledConstants constants(context.get());
  KeptByTarget kept = lowerUnknownKernels(program, CodeUse::Process);
  Program plan = described(program).program;
  ProgramCode code;
  // Constants may be in the context's memory.
  auto memory = std::make_shared<std::vector<std::shared_ptr<void>>>(1, context);
  code.memory = memory;
  code.kernels.resize(plan.steps.size());
  for (const Target *target : targets.all()) {
    SmallVector<ModuleOp> modules = targets.kernelsOf(program, *target);
    if (modules.empty())
      continue;
    auto known = kept.find(target);
    CompiledKernels compiled =
        known != kept.end() ? known->second->compile(modules) : target->compile(modules);
    memory->push_back(compiled.code);
    if (target->engine() != hostEngine)
      code.images = addImages(plan, compiled.images);
    for (auto [step, function] : llvm::zip_equal(plan.steps, code.kernels))
      if (step.kind == Step::Kind::Kernel && step.engine == hostEngine)
        function = compiled.functions.lookup(step.symbol);
  }
  return {std::move(plan), std::move(code)};
}

LoweredProgram Compiler::compileAot(ModuleOp program, AotCode &code) {
  MovementReport before = movementBefore(entryFunction(program));
  KeptByTarget kept = lowerUnknownKernels(program, CodeUse::Package);
  LoweredProgram result = packagedCode(program, kept, code);
  result.notes.before = before;
  return result;
}

LoweredProgram Compiler::compileLaidOut(ModuleOp program, AotCode &code) {
  continuePhases(program, "layout", "");
  return packagedCode(program, KeptByTarget(), code);
}

LoweredProgram Compiler::packagedCode(ModuleOp program, const KeptByTarget &kept, AotCode &code) {
  LoweredProgram result = described(program);
  for (const Target *target : targets.all()) {
    SmallVector<ModuleOp> modules = targets.kernelsOf(program, *target);
    if (modules.empty())
      continue;
    auto known = kept.find(target);
    PackagedKernels compiled =
        known != kept.end() ? known->second->compileAot(modules) : target->compileAot(modules);
    if (target->engine() != hostEngine) {
      for (DeviceImage &image : addImages(result.program, compiled.images))
        code.images.push_back(std::move(image));
      continue;
    }
    llvm::StringMap<std::string> symbols;
    for (KernelObject &object : compiled.objects) {
      symbols[object.kernel] = object.symbol;
      code.objects.push_back(std::move(object));
    }
    for (Step &step : result.program.steps)
      if (step.kind == Step::Kind::Kernel && step.engine == hostEngine)
        step.symbol = symbols.lookup(step.symbol);
  }
  return result;
}

std::vector<KernelPrediction> Compiler::predict(ModuleOp program, ArrayRef<int64_t> symbols,
                                                int threads) {
  runPhases(program, "schedule");
  std::vector<KernelPrediction> predictions;
  for (const StepPrediction &step :
       predictSteps(buildProgram(entryFunction(program)), program, targets, symbols, threads))
    predictions.push_back(step.report());
  return predictions;
}

/// The kernels of a scheduled program on one thread, with size hints.
static std::vector<KernelPrediction> predictionsOf(ModuleOp program, const Targets &targets) {
  Program steps = buildProgram(entryFunction(program));
  SizeHints sizes = sizeHints(entryFunction(program));
  std::vector<int64_t> symbols;
  for (auto [i, symbol] : llvm::enumerate(steps.symbols))
    symbols.push_back(std::max(symbol.min, sizes.of(static_cast<unsigned>(i))));
  std::vector<KernelPrediction> result;
  for (const StepPrediction &step : predictSteps(steps, program, targets, symbols, /*threads=*/1))
    result.push_back(step.report());
  return result;
}

/// Bytes that would not be moved take as long as reading them from where so many lie.
static void predictSavings(std::vector<MissedOptimization> &missed, func::FuncOp entry,
                           const Machine &machine) {
  SizeHints sizes = sizeHints(entry);
  for (MissedOptimization &why : missed)
    if (why.bytes && !why.microseconds) {
      auto bytes = static_cast<double>(sizes.of(*why.bytes));
      why.microseconds = bytes / machine.rates.bytesPerMicrosecond(bytes);
    }
}

Explanation Compiler::explained(ModuleOp program, std::vector<KernelPrediction> predictions,
                                const MovementReport &before) {
  LoweredProgram compiled = described(program);
  compiled.notes.before = before;
  for (auto [note, prediction] : llvm::zip_equal(compiled.notes.steps, predictions))
    note.prediction = std::move(prediction);
  const Machine &machine = targets.wanted.machine();
  compiled.notes.rates = describedRates(machine.rates);
  compiled.notes.missedOptimizations = reasonsOf(entryFunction(program));
  predictSavings(compiled.notes.missedOptimizations, entryFunction(program), machine);
  compiled.notes.planning = planningOf(entryFunction(program));
  Explanation result = explainProgram(compiled.program, compiled.notes);
  result.phaseMilliseconds = phaseMilliseconds;
  return result;
}

Explanation Compiler::explain(ModuleOp program) {
  MovementReport before = movementBefore(entryFunction(program));
  entryFunction(program)->setAttr(kExplainAttr, UnitAttr::get(program.getContext()));
  std::vector<KernelPrediction> predictions;
  lowerUnknownKernels(program, CodeUse::Process,
                      [&] { predictions = predictionsOf(program, targets); });
  return explained(program, std::move(predictions), before);
}

Explanation Compiler::explainScheduled(ModuleOp program) {
  return explained(program, predictionsOf(program, targets), {});
}

} // namespace headrace
