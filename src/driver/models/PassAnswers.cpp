#include "driver/models/PassAnswers.h"

#include "dialect/Hr.h"
#include "dialect/SizeAlgebra.h"
#include "dialect/reference/Evaluator.h"
#include "dialect/reference/Reference.h"
#include "driver/CompiledConstants.h"
#include "driver/Phases.h"
#include "driver/RunPasses.h"
#include "driver/Specialize.h"
#include "driver/models/Imports.h"
#include "runtime/program/BindInputs.h"
#include "runtime/program/Library.h"
#include "runtime/system/Error.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/PassInstrumentation.h"

using namespace mlir;

namespace headrace {

namespace {

Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

/// Has library calls done by their routines, in the types of the program.
class LibraryCalls final : public EvaluationObserver {
public:
  explicit LibraryCalls(ArrayRef<int64_t> symbols) : symbols(symbols) {}

  static bool canCompute(Operation &op) {
    auto call = dyn_cast<hr::LibraryOp>(op);
    return call && findLibraryRoutine(call.getRoutine().str());
  }

  Tensor knownResult(OpResult result, ArrayRef<Tensor> operands) override {
    auto call = dyn_cast<hr::LibraryOp>(result.getOwner());
    LibraryFn routine = call ? findLibraryRoutine(call.getRoutine().str()) : nullptr;
    if (!routine)
      return {};
    std::vector<Tensor> memory;
    for (auto [value, operand] : llvm::zip_equal(call.getInputs(), operands))
      memory.push_back(reference::narrowed(operand, toDType(elementOf(value))));
    memory.push_back(
        Tensor::allocate(toDType(elementOf(result)), reference::resultShape(result, symbols)));
    Step step;
    step.kind = Step::Kind::Library;
    step.name = step.symbol = call.getRoutine().str();
    std::vector<void *> buffers;
    for (Tensor &tensor : memory) {
      step.operands.push_back(static_cast<int>(buffers.size()));
      buffers.push_back(tensor.data());
    }
    std::vector<int64_t> parameters;
    for (AffineExpr parameter : call.getParameters().getResults()) {
      step.parameters.push_back(toDimExpr(parameter));
      parameters.push_back(reference::evaluateSize(parameter, symbols));
    }
    routine(step, buffers.data(), parameters, ThreadPool::global());
    return reference::widened(memory.back(), elementOf(result));
  }

private:
  ArrayRef<int64_t> symbols;
};

/// Evaluates the program after every pass that changes it.
class AnswerVisitor final : public PassInstrumentation {
public:
  AnswerVisitor(std::string phase, ModuleOp program, ArrayRef<Tensor> inputs,
                ArrayRef<int64_t> symbols, const std::function<bool(const PassAnswer &)> &visit,
                bool &isDone, std::string &opaque)
      : phase(std::move(phase)), program(program), inputs(inputs), symbols(symbols), visit(visit),
        isDone(isDone), opaque(opaque), seen(program) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    if (isDone || !opaque.empty() || pass->getArgument().empty())
      return;
    OperationFingerPrint now(program);
    if (now == seen)
      return;
    seen = now;
    func::FuncOp function = entryFunction(program);
    for (Operation &each : function.getBody().front().without_terminator())
      if (!isa<hr::OperatorInterface, hr::ConstantOp, hr::KernelOp>(each) &&
          !LibraryCalls::canCompute(each)) {
        opaque = pass->getArgument().str();
        return;
      }
    isDone = !visit({phase, pass->getArgument().str(), outputsOf(function)});
  }

private:
  /// The outputs in the user's types, or in f64. From `legalize-types` on, the program holds some
  /// numbers in other types.
  std::vector<Tensor> outputsOf(func::FuncOp function) const {
    std::vector<Tensor> given;
    for (auto [argument, input] : llvm::zip_equal(function.getArguments(), inputs))
      given.push_back(input.viewedAs(toDType(elementOf(argument))));
    LibraryCalls calls(symbols);
    std::vector<Tensor> outputs =
        evaluateFunction(function, given, symbols, /*keepDouble=*/true, &calls);
    for (auto [i, output] : llvm::enumerate(outputs))
      if (auto type = function.getResultAttrOfType<TypeAttr>(i, kTypeAttr))
        output = output.viewedAs(toDType(type.getValue()));
    return outputs;
  }

  std::string phase;
  ModuleOp program;
  ArrayRef<Tensor> inputs;
  ArrayRef<int64_t> symbols;
  const std::function<bool(const PassAnswer &)> &visit;
  bool &isDone;
  std::string &opaque;
  OperationFingerPrint seen;
};

} // namespace

std::string visitPassAnswers(const std::filesystem::path &model, const Settings &settings,
                             std::span<const Tensor> inputs,
                             const std::function<bool(const PassAnswer &)> &visit) {
  Imports imports(importFile(model, settings), 1);
  std::vector<int64_t> sizes, open;
  (void)bindInputs(imports.first().interface(), inputs, sizes);
  Sizes asked(sizes.begin(), sizes.end()), version;
  std::shared_ptr<ImportedProgram> imported = imports.find(asked);
  if (!imported)
    imported = imports.importFor(asked);
  for (size_t i = 0; i < sizes.size(); ++i) {
    // Sizes 0 and 1 are programs of their own.
    version.push_back(sizes[i] < 2 ? std::optional(sizes[i]) : std::nullopt);
    if (!version.back() && !imported->isNumber[i])
      open.push_back(sizes[i]);
  }
  CompilerSection section;
  LevelOneProgram &source = imported->program;
  CompiledConstants constants(source.context.get());
  OwningOpRef<ModuleOp> program = specializeProgram(*source.module, imported->own(version));
  bool isDone = false;
  std::string opaque;
  runPhases(compilerPhases(settings), *program, source.name, "kernels",
            [&](const Phase &phase, PassManager &manager) {
              manager.addInstrumentation(std::make_unique<AnswerVisitor>(
                  phase.name.str(), *program, ArrayRef(inputs.data(), inputs.size()), open, visit,
                  isDone, opaque));
            });
  return opaque;
}

} // namespace headrace
