// Values inside of a compiled program, next to those of the reference.
//
// The code that runs is the code of the model: steps that store a value which level 1 has, too,
// store it in an output instead of a temporary, and nothing else is different. Programs are data,
// so that this takes no code in the runtime, works for any engine, and for packages. Which value
// a step stores is known by the number that `layout` gave it (ValueNumbers.h); the reference
// evaluates the program as that phase left it, so that layouts and padding are the same.
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "dialect/reference/Evaluator.h"
#include "dialect/reference/Reference.h"
#include "dialect/rounding/RoundedArithmetic.h"
#include "driver/Contexts.h"
#include "driver/KernelTrace.h"
#include "driver/ProgramBuilder.h"
#include "driver/RunPasses.h"
#include "driver/models/SingleModel.h"
#include "driver/models/WithCompiler.h"
#include "runtime/program/BindInputs.h"
#include "runtime/program/Engine.h"
#include "runtime/system/ForkSafety.h"
#include "target/Target.h"
#include "transform/Passes.h"
#include "transform/kernels/ValueNumbers.h"

#include <map>
#include <mutex>
#include <set>

using namespace mlir;

namespace headrace {

namespace {

/// A traced value of the program: a numbered buffer, and the output that it became.
struct KeptValue {
  NumberedBuffer buffer;
  size_t output = 0;
};

struct KeptProgram {
  Program program;
  std::vector<KeptValue> values;
};

/// The buffer in the memory if outputs are: itself, or what a transfer makes of it, at the end
/// if there is none yet.
int homeBuffer(Program &program, int buffer, const std::string &home) {
  BufferInfo copy = program.buffers[static_cast<size_t>(buffer)];
  if (copy.engine == home)
    return buffer;
  for (const Step &step : program.steps)
    if (step.kind == Step::Kind::Transfer && step.operands.front() == buffer &&
        program.buffers[static_cast<size_t>(step.operands.back())].engine == home)
      return step.operands.back();
  int end = static_cast<int>(program.steps.size());
  program.buffers[static_cast<size_t>(buffer)].lastStep = end;
  Step transfer;
  transfer.kind = Step::Kind::Transfer;
  transfer.engine = copy.engine;
  transfer.name = transfer.symbol = "copy";
  transfer.operands = {buffer, static_cast<int>(program.buffers.size())};
  transfer.parameters = {copy.bytes};
  program.steps.push_back(std::move(transfer));
  copy.kind = BufferInfo::Kind::Temporary;
  copy.engine = home;
  copy.firstStep = copy.lastStep = end;
  program.buffers.push_back(std::move(copy));
  return static_cast<int>(program.buffers.size()) - 1;
}

/// The program with numbered values as outputs.
KeptProgram keepingValues(Program program, ArrayRef<NumberedBuffer> numbered) {
  KeptProgram kept;
  std::string home = hostEngine;
  for (const BufferInfo &buffer : program.buffers)
    if (buffer.kind == BufferInfo::Kind::Output)
      home = buffer.engine;
  for (const NumberedBuffer &value : numbered) {
    auto id = static_cast<size_t>(homeBuffer(program, value.buffer, home));
    BufferInfo &buffer = program.buffers[id];
    if (buffer.kind == BufferInfo::Kind::Temporary) {
      buffer.kind = BufferInfo::Kind::Output;
      buffer.index = static_cast<int>(program.outputs.size());
      TensorSpec spec = value.spec;
      spec.name = program.steps[value.step].name + ":" + std::to_string(value.number);
      program.outputs.push_back(std::move(spec));
    }
    if (buffer.kind == BufferInfo::Kind::Output)
      kept.values.push_back({value, static_cast<size_t>(buffer.index)});
  }
  kept.program = std::move(program);
  return kept;
}

/// Whether two programs have the same steps on the same buffers.
bool areAlike(const Program &a, const Program &b) {
  auto sameBuffer = [](const BufferInfo &x, const BufferInfo &y) {
    return x.kind == y.kind && x.index == y.index && x.dtype == y.dtype && x.bytes == y.bytes &&
           x.engine == y.engine;
  };
  auto sameStep = [](const Step &x, const Step &y) {
    return x.kind == y.kind && x.engine == y.engine && x.name == y.name &&
           x.operands == y.operands && x.operators == y.operators &&
           (x.kind == Step::Kind::Kernel || x.symbol == y.symbol);
  };
  return llvm::equal(a.buffers, b.buffers, sameBuffer) && llvm::equal(a.steps, b.steps, sameStep);
}

using Values = std::map<int64_t, Tensor>;

/// The type that a traced value has for the user, and the operator that it is of.
struct ValueFacts {
  DType type;
  std::string node;
};

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// Values in wide types as numbers: integers in their types, floats in f64. Wide types hold the
/// bits of 8-bit and smaller floats, which become f64, too.
Tensor asNumbers(const Tensor &wide, DType declared) {
  if (wide.dtype() == DType::F64)
    return wide;
  Tensor typed = reference::narrowed(wide, declared);
  bool isSmallFloat = declared >= DType::F8E4M3FN && declared <= DType::F4E2M1;
  return isSmallFloat ? typed.converted(DType::F64) : typed;
}

/// Keeps values by their numbers. Results that the reference cannot compute are those of the
/// compiled program, so that what comes after them can be compared.
class ValueKeeper final : public EvaluationObserver {
public:
  ValueKeeper(const std::set<int64_t> &wanted, const Values &found, RoundedArithmetic *rounding)
      : wanted(wanted), found(found), rounding(rounding) {}

  void changeOperands(Operation &op, MutableArrayRef<Tensor> operands) override {
    if (rounding)
      rounding->changeOperands(op, operands);
  }
  Tensor ownResult(Operation &op, ArrayRef<Tensor> operands) override {
    return rounding ? rounding->ownResult(op, operands) : Tensor();
  }
  Tensor changedResult(Operation &op, Tensor result) override {
    if (rounding)
      result = rounding->changedResult(op, std::move(result));
    if (auto number = valueNumber(op.getResult(0)); number && wanted.contains(*number)) {
      DType declared = toDType(elementOf(op.getResult(0)));
      kept[*number] = asNumbers(result, declared);
      facts[*number] = {declared, operatorName(&op)};
    }
    return result;
  }
  Tensor knownResult(OpResult result, ArrayRef<Tensor>) override {
    auto number = valueNumber(result);
    auto known = number ? found.find(*number) : found.end();
    if (known == found.end())
      return {};
    if (std::string name = operatorName(result.getOwner()); !llvm::is_contained(taken, name))
      taken.push_back(name);
    Type element = elementOf(result);
    Tensor typed = known->second.viewedAs(toDType(element));
    return reference::widened(typed.reshaped(reference::resultShape(result, symbols)), element);
  }

  ArrayRef<int64_t> symbols;
  Values kept;
  std::map<int64_t, ValueFacts> facts;
  std::vector<std::string> taken; // operators whose results are those of the compiled program

private:
  const std::set<int64_t> &wanted;
  const Values &found;
  RoundedArithmetic *rounding;
};

/// Whether a buffer of a type may have values of a declared one: integers stand for those that
/// CPUs do not compute with.
bool holds(DType stored, DType declared) {
  bool isComputed = declared >= DType::F16 && declared <= DType::F64;
  bool isInteger = stored < DType::F16;
  return stored == declared || (isInteger && !isComputed && sizeOf(stored) == sizeOf(declared));
}

/// The first operation that the reference cannot compute and no traced value stands for.
std::string unknownStep(func::FuncOp function, const Values &found) {
  for (Operation &op : function.getBody().front().without_terminator())
    if (!isa<hr::OperatorInterface, hr::ConstantOp>(op))
      for (OpResult result : op.getResults())
        if (auto number = valueNumber(result); !number || !found.contains(*number))
          return operatorName(&op);
  return "";
}

/// Evaluates the program of level 1 once exactly and some times with rounding.
void addReferences(KernelTrace &trace, func::FuncOp levelOne, ArrayRef<Tensor> inputs,
                   ArrayRef<int64_t> symbols, ArrayRef<KeptValue> kept, const Program &program,
                   ArrayRef<Tensor> outputs, const RoundedRuns &runs) {
  Values found;
  std::set<int64_t> wanted;
  for (const KeptValue &value : kept) {
    found[value.buffer.number] = outputs[value.output];
    wanted.insert(value.buffer.number);
  }
  if (std::string step = unknownStep(levelOne, found); !step.empty()) {
    trace.unsupportedReason = "the reference cannot compute '" + step + "' apart from the program";
    return;
  }
  auto evaluate = [&](RoundedArithmetic *rounding) {
    ValueKeeper keeper(wanted, found, rounding);
    keeper.symbols = symbols;
    auto results = evaluateFunction(levelOne, inputs, symbols, /*keepDouble=*/true, &keeper);
    if (!rounding)
      trace.exactOutputs = std::move(results);
    return keeper;
  };
  ValueKeeper exact = evaluate(nullptr);
  trace.taken = exact.taken;
  std::set<size_t> traced;
  std::vector<int64_t> numbers;
  for (const KeptValue &value : kept) {
    auto reference = exact.kept.find(value.buffer.number);
    if (reference == exact.kept.end())
      continue;
    const ValueFacts &facts = exact.facts.at(value.buffer.number);
    Tensor stored = outputs[value.output];
    // A pass that gives an operator's place to another value changes its type or size.
    if (stored.elements() != reference->second.elements() || !holds(stored.dtype(), facts.type))
      continue;
    const Step &step = program.steps[value.buffer.step];
    TracedValue &entry = trace.values.emplace_back();
    entry.step = value.buffer.step;
    entry.kernel = step.name;
    entry.operators = step.operators;
    entry.node = facts.node;
    entry.found = stored.viewedAs(facts.type).reshaped(reference->second.shape());
    entry.exact = reference->second;
    numbers.push_back(value.buffer.number);
    traced.insert(value.buffer.step);
  }
  for (int run = 1; run <= runs.rounded + runs.disturbed; ++run) {
    bool isDisturbed = run > runs.rounded;
    RoundedArithmetic rounding(static_cast<uint64_t>(run), isDisturbed ? runs.disturbance : 1,
                               symbols);
    ValueKeeper rounded = evaluate(&rounding);
    for (auto [value, number] : llvm::zip_equal(trace.values, numbers))
      (isDisturbed ? value.disturbed : value.rounded).push_back(rounded.kept.at(number));
  }
  for (auto [i, step] : llvm::enumerate(program.steps))
    if (step.kind != Step::Kind::Transfer && !traced.contains(i))
      trace.untraced.push_back(step.name);
}

/// A program that the model may be compiled to: by these settings, for these sizes.
struct Variant {
  Settings settings;
  Sizes sizes;
};

/// The host's targets, the most able first.
std::vector<std::string> hostTargets() {
  std::vector<std::string> names;
  for (std::string_view level : llvm::reverse(processorLevels()))
    names.push_back(std::string(hostTarget) + ":" + std::string(level));
  names.emplace_back(hostTarget);
  return names;
}

/// Those that a package may have of a model, by its CPUs and by the sizes that were fixed.
std::vector<Variant> packagedVariants(const Settings &settings, const Sizes &open,
                                      const Sizes &exact) {
  std::vector<Variant> all;
  std::vector<Sizes> versions(1, open);
  if (open != exact)
    versions.push_back(exact);
  for (const Sizes &sizes : versions)
    for (const std::string &level : hostTargets())
      for (int64_t vectorBytes : {64, 0})
        for (const char *expansion : {"generated", "auto"}) {
          Variant &variant = all.emplace_back(Variant{settings, sizes});
          variant.settings.target = level;
          variant.settings.expansion = expansion;
          variant.settings.sharedVectorBytes = vectorBytes;
        }
  return all;
}

/// A program that keeps traced values, ready to run.
struct KeptExecutable {
  KeptProgram kept;
  std::shared_ptr<const Executable> executable;
};

KeptExecutable compileKeeping(LevelOneProgram &source, const Variant &variant) {
  return withCompiler(
      source, variant.settings, variant.sizes, [&](Compiler &compiler, ModuleOp program) {
        compiler.numberValues();
        auto [plan, code] = compiler.compileParts(program);
        KeptExecutable made;
        made.kept = keepingValues(std::move(plan), numberedBuffers(entryFunction(program)));
        code.kernels.resize(made.kept.program.steps.size());
        made.executable = std::make_shared<Executable>(made.kept.program, std::move(code));
        return made;
      });
}

/// The package's program for these inputs; no executable if the variant is another program.
KeptExecutable findKeeping(LevelOneProgram &source, const Variant &variant,
                           const PackageProgram &package, std::span<const Tensor> inputs) {
  addTarget(*source.context, findTarget(variant.settings.target));
  return withCompiler(
      source, variant.settings, variant.sizes, [&](Compiler &compiler, ModuleOp program) {
        compiler.numberValues();
        compiler.runPhases(program, "schedule");
        Program plan = buildProgram(entryFunction(program));
        std::vector<NumberedBuffer> numbered = numberedBuffers(entryFunction(program));
        KeptExecutable found;
        auto executable = package.findChanged(inputs, [&](const Program &packaged) {
          if (!areAlike(plan, packaged))
            return packaged;
          found.kept = keepingValues(packaged, numbered);
          return found.kept.program;
        });
        if (!found.kept.program.steps.empty())
          found.executable = std::move(executable);
        return found;
      });
}

} // namespace

std::vector<Tensor> Model::roundedReference(std::span<const Tensor> inputs, uint64_t seed,
                                            double scale) {
  SingleModel &single = impl->single("reference results");
  std::vector<int64_t> symbols = bind(inputs);
  auto source = single.programFor(Sizes(symbols.begin(), symbols.end()));
  std::lock_guard lock(*single.compileLock);
  CompilerSection section;
  (void)bindInputs(source->program.interface(), inputs, symbols);
  CompiledConstants constants(source->program.context.get());
  OwningOpRef<ModuleOp> finer = source->program.module->clone();
  // Intrinsics round where the finer ones do that they consist of.
  PassManager manager(finer->getContext(), ModuleOp::getOperationName());
  ComputeInF32PassOptions options;
  options.products = false;
  manager.addNestedPass<func::FuncOp>(createComputeInF32Pass(options));
  manager.addNestedPass<func::FuncOp>(createExpandOperatorsPass());
  runPasses(manager, *finer, impl->name, "the reference");
  RoundedArithmetic rounding(seed, scale, symbols);
  return evaluateFunction(entryFunction(*finer), ArrayRef(inputs.data(), inputs.size()), symbols,
                          /*keepDouble=*/true, &rounding);
}

KernelTrace Model::traceKernels(std::span<const Tensor> inputs, const RoundedRuns &runs,
                                const Model *package) {
  SingleModel &single = impl->single("values inside of it");
  std::vector<int64_t> symbols = bind(inputs);
  Sizes exact(symbols.begin(), symbols.end());
  auto source = single.programFor(exact);
  Settings settings = single.settingsFor(*source);
  std::lock_guard lock(*single.compileLock);
  CompilerSection section;
  CompiledConstants constants(source->program.context.get());
  std::vector<Variant> variants{{settings, source->own(single.versionFor(symbols))}};
  if (package)
    variants = packagedVariants(settings, variants.front().sizes, source->own(exact));
  KernelTrace trace;
  KeptExecutable made;
  Variant variant;
  for (const Variant &each : variants) {
    variant = each;
    made = package ? findKeeping(source->program, each, *package->impl->packaged(), inputs)
                   : compileKeeping(source->program, each);
    if (made.executable)
      break;
  }
  if (!made.executable) {
    trace.unsupportedReason = "the package has other kernels than the model has for any CPU";
    return trace;
  }
  std::vector<int64_t> open = made.executable->bind(inputs).value();
  trace.outputs = made.executable->run(inputs);
  withCompiler(
      source->program, variant.settings, variant.sizes, [&](Compiler &compiler, ModuleOp program) {
        compiler.numberValues();
        compiler.runPhases(program, "layout");
        addReferences(trace, entryFunction(program), ArrayRef(inputs.data(), inputs.size()), open,
                      made.kept.values, made.kept.program, trace.outputs, runs);
        return true;
      });
  trace.outputs.resize(outputs().size());
  return trace;
}

} // namespace headrace
