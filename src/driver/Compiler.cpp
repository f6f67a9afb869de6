#include "driver/Compiler.h"

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "driver/ProgramBuilder.h"
#include "runtime/Error.h"
#include "runtime/ThreadPool.h"
#include "transform/recipe/KernelModel.h"
#include "transform/recipe/ProgramModel.h"

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
  if (!candidate || isa<hr::ConstantOp, hr::ReshapeOp>(op))
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

MovementReport movementAfter(const Program &program) {
  MovementReport report;
  report.kernels = static_cast<int64_t>(program.steps.size());
  for (const Step &step : program.steps) {
    report.bytesMoved = report.bytesMoved + step.cost.bytesRead + step.cost.bytesWritten;
    report.operations = report.operations + step.cost.operations;
  }
  for (const BufferInfo &buffer : program.buffers)
    if (buffer.kind == BufferInfo::Kind::Temporary)
      report.intermediateBytes = report.intermediateBytes + buffer.bytes;
  return report;
}

std::string textAttribute(ModuleOp module, StringRef name) {
  auto text = module->getAttrOfType<StringAttr>(name);
  return text ? text.str() : "";
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
  bool threads = ThreadPool::global().threads() > 1;
  auto context = std::make_shared<MLIRContext>(
      registry, threads ? MLIRContext::Threading::ENABLED : MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

Compiler::Compiler(std::shared_ptr<MLIRContext> context, const Settings &settings,
                   std::string modelName)
    : context(std::move(context)), settings(settings), modelName(std::move(modelName)),
      target(findTarget(settings.target)) {}

void Compiler::runPhases(ModuleOp program, StringRef last) {
  std::string refused, broken;
  ScopedDiagnosticHandler collect(context.get(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    std::string name = nameOf(diagnostic.getLocation());
    if (!name.empty() && refused.empty())
      refused = "operator '" + name + "': " + diagnostic.str();
    else if (broken.empty())
      broken = diagnostic.str();
    return success();
  });
  func::FuncOp entry = entryFunction(program);
  if (!settings.recipe.empty())
    entry->setAttr(kRecipeAttr, StringAttr::get(context.get(), settings.recipe));
  for (const Phase &phase : compilerPhases()) {
    double start = now();
    if (phase.name == "kernels")
      (void)scheduledProgram(entry); // refuses an illegal recipe in the user's words
    PassManager manager(context.get(), ModuleOp::getOperationName());
    manager.enableVerifier(true);
    phase.build(manager, target, settings);
    if (failed(manager.run(program))) {
      if (!refused.empty())
        throw Error(ErrorKind::Unsupported, modelName + ": " + refused);
      throw InternalError(modelName + ": phase '" + phase.name.str() + "' failed: " + broken);
    }
    phaseMilliseconds.emplace_back(phase.name.str(), now() - start);
    if (phase.name == last)
      return;
  }
}

std::shared_ptr<const Executable> Compiler::compile(ModuleOp program) {
  runPhases(program, compilerPhases().back().name);
  Program plan = buildProgram(entryFunction(program));
  plan.name = modelName;
  CompiledKernels compiled = target.compile(program);
  std::vector<KernelFn> kernels;
  for (Step &step : plan.steps) {
    auto found = compiled.kernels.find(step.symbol);
    bool generated = step.kind == Step::Kind::Kernel;
    kernels.push_back(generated ? found->second.function : nullptr);
    if (generated)
      step.workspaceBytes = found->second.workspaceBytes;
  }
  // Constants may lie in the context's memory.
  auto keep = std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(
      compiled.code, context);
  return std::make_shared<Executable>(std::move(plan), std::move(kernels), keep);
}

Explanation Compiler::explain(ModuleOp program) {
  Explanation result;
  result.name = modelName;
  result.symbols = symbolNames(entryFunction(program));
  result.before = movementBefore(entryFunction(program));
  runPhases(program, compilerPhases().back().name);
  Program plan = buildProgram(entryFunction(program));
  result.after = movementAfter(plan);
  for (const Step &step : plan.steps) {
    KernelReport report{step.name, step.operators, step.symbol, "", "", "", step.cost, 0};
    if (step.kind == Step::Kind::Kernel) {
      auto module = program.lookupSymbol<ModuleOp>(step.symbol);
      report.kind = textAttribute(module, kKindAttr);
      report.schedule = textAttribute(module, kLoopsAttr);
      report.recipe = textAttribute(module, kRecipeAttr);
      report.notes = textAttribute(module, kRecipeNotesAttr);
      if (std::string refused = textAttribute(module, kRecipeRefusedAttr); !refused.empty())
        report.schedule += " (refused: " + refused + ")";
      report.workspaceBytes = workspaceOf(module);
      // All that a kernel keeps in memory between its operators is a worker's workspace.
      report.cost.intermediateBytes = DimExpr::constant(report.workspaceBytes);
    }
    result.kernels.push_back(std::move(report));
  }
  for (const Tensor &constant : plan.constants)
    result.constantBytes += static_cast<int64_t>(constant.bytes());
  result.phaseMilliseconds = phaseMilliseconds;
  if (plan.symbols.empty()) {
    std::vector<KernelFn> none(
        plan.steps.size(),
        [](void *const *, const int64_t *, int64_t, int64_t, void *) -> int64_t { return 0; });
    for (size_t i = 0; i < plan.steps.size(); ++i)
      if (plan.steps[i].kind == Step::Kind::Library)
        none[i] = nullptr;
    result.peakBytes = Executable(std::move(plan), std::move(none), nullptr).peakBytes({});
  }
  return result;
}

} // namespace headrace
