#include "driver/Compiler.h"

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "driver/CompilerThreads.h"
#include "driver/ProgramBuilder.h"
#include "runtime/system/Error.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/Text.h"
#include "transform/recipe/KernelModel.h"
#include "transform/recipe/KernelStages.h"
#include "transform/recipe/ProgramModel.h"

#include "llvm/ADT/StringSet.h"
#include "mlir/IR/Diagnostics.h"

#include <chrono>

using namespace mlir;

namespace headrace {
namespace {

double now() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

/// The user's operator a diagnostic speaks of, if its place names one.
std::string nameOf(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return name.getName().str();
  return "";
}

/// Reads, writes and work of one operator on its own.
void addOperator(MovementReport &report, Operation &op, bool isOutput) {
  auto candidate = dyn_cast<hr::OperatorInterface>(op);
  if (!candidate || isa<hr::ConstantOp, hr::ReshapeOp, hr::CheckOp>(op))
    return;
  report.kernels += 1;
  auto bytes = [](Value value) {
    return toDimExpr(byteCount(cast<RankedTensorType>(value.getType())));
  };
  for (Value operand : op.getOperands())
    report.bytesMoved = report.bytesMoved + bytes(operand);
  report.bytesMoved = report.bytesMoved + bytes(op.getResult(0));
  report.operations =
      report.operations + toDimExpr(candidate.getMovement().operations(op.getContext()));
  if (!isOutput)
    report.intermediateBytes = report.intermediateBytes + bytes(op.getResult(0));
}

MovementReport movementBefore(func::FuncOp function) {
  MovementReport report;
  Operation *ret = function.getBody().front().getTerminator();
  for (Operation &op : function.getBody().front()) {
    bool isOutput =
        op.getNumResults() == 1 && llvm::is_contained(ret->getOperands(), op.getResult(0));
    addOperator(report, op, isOutput);
  }
  return report;
}

std::string textAttribute(ModuleOp module, StringRef name) {
  auto text = module->getAttrOfType<StringAttr>(name);
  return text ? text.str() : "";
}

/// Throws Error where what a recipe says of a kernel was refused.
void requireRecipes(ModuleOp program) {
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

} // namespace

func::FuncOp entryFunction(ModuleOp program) {
  auto function = program.lookupSymbol<func::FuncOp>("main");
  if (!function)
    throw InternalError("the program has no entry");
  return function;
}

std::shared_ptr<MLIRContext> makeContext(const Target &target) {
  DialectRegistry registry;
  registry.insert<hr::HrDialect, func::FuncDialect>();
  target.registerDialects(registry);
  CompilerSection section;
  auto context = std::make_shared<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  useProcessThreads(*context);
  context->loadAllAvailableDialects();
  return context;
}

void addTarget(MLIRContext &context, const Target &target) {
  DialectRegistry registry;
  target.registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

Compiler::Compiler(std::shared_ptr<MLIRContext> context, const Settings &settings,
                   std::string modelName)
    : context(std::move(context)), settings(settings), modelName(std::move(modelName)),
      target(findTarget(settings.target)) {}

void runPasses(PassManager &manager, ModuleOp program, const std::string &modelName,
               const std::string &stage) {
  std::string refused, broken;
  ScopedDiagnosticHandler collect(program.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    std::string name = nameOf(diagnostic.getLocation());
    if (!name.empty() && refused.empty())
      refused = "operator " + inQuotes(name) + ": " + diagnostic.str();
    else if (broken.empty())
      broken = diagnostic.str();
    return success();
  });
  manager.enableVerifier(true);
  LogicalResult result = [&] {
    CompilerSection section;
    return manager.run(program);
  }();
  pollInterruption(); // what was skipped is no result
  if (succeeded(result))
    return;
  if (!refused.empty())
    throw Error(ErrorKind::Unsupported, modelName + ": " + refused);
  throw InternalError(modelName + ": " + stage + " failed: " + broken);
}

void Compiler::runPhases(ModuleOp program, StringRef last) {
  func::FuncOp entry = entryFunction(program);
  const DeviceTarget *device = settings.recipe.empty() ? nullptr : target.asDevice();
  if (!settings.recipe.empty() && !device)
    entry->setAttr(kRecipeAttr, StringAttr::get(context.get(), settings.recipe));
  for (const Phase &phase : compilerPhases()) {
    double start = now();
    if (phase.name == "kernels")
      (void)scheduledProgram(entry); // refuses an illegal recipe in the user's words
    if (phase.name == "schedule" && device)
      device->attachRecipe(entry, settings.recipe);
    PassManager manager(context.get(), ModuleOp::getOperationName());
    phase.build(manager, target, settings);
    runPasses(manager, program, modelName, "phase '" + phase.name.str() + "'");
    phaseMilliseconds.emplace_back(phase.name.str(), now() - start);
    if (phase.name == "schedule" && device)
      requireRecipes(program);
    if (phase.name == last)
      return;
  }
}

LoweredProgram Compiler::lower(ModuleOp program) {
  LoweredProgram result;
  KernelNames names;
  runPhases(program, compilerPhases().back().name);
  result.program = buildProgram(entryFunction(program));
  result.program.name = modelName;
  for (Step &step : result.program.steps) {
    ProgramNotes::StepNote &note = result.notes.steps.emplace_back();
    note.kind = step.symbol;
    if (step.kind != Step::Kind::Kernel)
      continue;
    auto module = program.lookupSymbol<ModuleOp>(step.symbol);
    note.kind = textAttribute(module, kKindAttr);
    note.schedule = textAttribute(module, kLoopsAttr);
    note.recipe = textAttribute(module, kRecipeAttr);
    if (target.asDevice())
      note.recipe =
          namedInProgram(note.recipe, names.next(step.name), textAttribute(module, kRootStageAttr));
    note.notes = textAttribute(module, kRecipeNotesAttr);
    if (std::string refused = textAttribute(module, kRecipeRefusedAttr); !refused.empty())
      note.schedule += " (refused: " + refused + ")";
    step.workspaceBytes = workspaceOf(module);
  }
  return result;
}

namespace {

/// Tells the steps what they launch; returns the distinct images.
std::vector<DeviceImage> addLaunches(Program &program, std::vector<DeviceKernel> kernels) {
  std::vector<DeviceImage> images;
  llvm::StringMap<const DeviceKernel *> byName;
  llvm::StringSet<> known;
  for (DeviceKernel &kernel : kernels) {
    byName[kernel.kernel] = &kernel;
    if (known.insert(kernel.image.name).second)
      images.push_back(kernel.image);
  }
  for (Step &step : program.steps) {
    if (step.kind != Step::Kind::Kernel)
      continue;
    const DeviceKernel *kernel = byName.lookup(step.symbol);
    if (!kernel)
      throw InternalError("kernel '" + step.symbol + "' has no code for the device");
    step.symbol = kernel->image.name;
    step.launches = kernel->launches;
    step.deviceWorkspaceBytes = kernel->workspaceBytes;
  }
  return images;
}

} // namespace

std::shared_ptr<const Executable> Compiler::compile(ModuleOp program) {
  Program plan = lower(program).program;
  if (const DeviceTarget *device = target.asDevice()) {
    std::vector<DeviceImage> images = addLaunches(plan, device->compile(program));
    return std::make_shared<Executable>(std::move(plan), std::move(images), context);
  }
  CompiledKernels compiled = target.asHost()->compile(program);
  std::vector<KernelFn> kernels;
  kernels.reserve(plan.steps.size());
  for (const Step &step : plan.steps)
    kernels.push_back(step.kind == Step::Kind::Kernel ? compiled.kernels.lookup(step.symbol)
                                                      : nullptr);
  // Constants may lie in the context's memory.
  auto keep = std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(
      compiled.code, context);
  return std::make_shared<Executable>(std::move(plan), std::move(kernels), keep);
}

LoweredProgram Compiler::compileAhead(ModuleOp program, AheadCode &code) {
  MovementReport before = movementBefore(entryFunction(program));
  LoweredProgram result = lower(program);
  result.notes.before = before;
  if (const DeviceTarget *device = target.asDevice()) {
    for (DeviceImage &image : addLaunches(result.program, device->compile(program)))
      code.images.push_back(std::move(image));
    return result;
  }
  llvm::StringMap<std::string> symbols;
  for (KernelObject &object : target.asHost()->compileAhead(program)) {
    symbols[object.kernel] = object.symbol;
    code.objects.push_back(std::move(object));
  }
  for (Step &step : result.program.steps)
    if (step.kind == Step::Kind::Kernel)
      step.symbol = symbols.lookup(step.symbol);
  return result;
}

Explanation Compiler::explain(ModuleOp program) {
  MovementReport before = movementBefore(entryFunction(program));
  LoweredProgram compiled = lower(program);
  compiled.notes.before = before;
  Explanation result = explainProgram(compiled.program, compiled.notes);
  result.phaseMilliseconds = phaseMilliseconds;
  return result;
}

} // namespace headrace
