#include "driver/ProgramBuilder.h"

#include "dialect/ConstantData.h"
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "runtime/program/Engine.h"
#include "runtime/program/ValueCheck.h"
#include "runtime/system/Error.h"
#include "target/Placement.h"
#include "target/Slices.h"
#include "transform/choices/Choices.h"
#include "transform/kernels/ProgramModel.h"
#include "transform/kernels/ValueNumbers.h"

#include <map>
#include <set>

using namespace mlir;

namespace headrace {
namespace {

TensorSpec specOf(Type type, StringRef name, TypeAttr seenAs = {}) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = seenAs ? seenAs.getValue() : tensor.getElementType();
  TensorSpec spec{name.str(), toDType(element), {}};
  for (AffineExpr dim : shapeOf(tensor))
    spec.dims.push_back(toDimExpr(dim));
  return spec;
}

KernelCost costOf(AffineMap cost) {
  KernelCost result{toDimExpr(cost.getResult(0)), toDimExpr(cost.getResult(1)),
                    toDimExpr(cost.getResult(2)), DimExpr(), DimExpr()};
  if (cost.getNumResults() > 3)
    result.bytesSaved = toDimExpr(cost.getResult(3));
  return result;
}

std::string engineOf(Operation *op) {
  auto engine = op->getAttrOfType<StringAttr>(kEngineAttr);
  return engine ? engine.str() : hostEngine;
}

/// Where inputs and outputs are: with the one engine that runs the whole program, or in main
/// memory.
std::string homeOf(func::FuncOp function) {
  std::set<std::string> engines;
  for (Operation &op : function.getBody().front())
    if (isa<hr::LaunchOp, hr::LibraryOp, hr::CheckOp>(op))
      engines.insert(engineOf(&op));
  if (engines.empty()) // it only moves what it is given
    engines.insert(engineOf(function));
  bool isAlone = engines.size() == 1 && findEngine(*engines.begin()).runsAlone();
  return isAlone ? *engines.begin() : hostEngine;
}

class ProgramBuilder {
public:
  /// Without constants, nothing reads their data, which may be gone.
  explicit ProgramBuilder(func::FuncOp function, bool hasConstants = true)
      : function(function), home(homeOf(function)), hasConstants(hasConstants) {}

  Program build() {
    program.name = function.getName().str();
    program.symbols = symbolGuards(function, /*least=*/2);
    program.inputs = inputSpecs(function);
    program.outputs = outputSpecs(function);
    for (BlockArgument argument : function.getArguments()) {
      unsigned number = argument.getArgNumber();
      buffers[argument] =
          addBuffer(argument.getType(), BufferInfo::Kind::Input, static_cast<int>(number), home);
      names[buffers[argument]] = program.inputs[number].name;
    }
    for (Operation &op : function.getBody().front())
      llvm::TypeSwitch<Operation *>(&op)
          .Case([&](hr::ConstantOp constant) { addConstant(constant); })
          .Case([&](hr::ReshapeOp view) { buffers[view] = buffers.lookup(view.getInput()); })
          .Case([&](hr::CheckOp check) { addCheck(check); })
          .Case([&](hr::LaunchOp launch) {
            Step step = makeStep(launch);
            step.kind = Step::Kind::Kernel;
            step.symbol = launch.getKernel().str();
            step.parameters = slicesOf(launch);
            program.steps.push_back(std::move(step));
          })
          .Case([&](hr::LibraryOp call) {
            Step step = makeStep(call);
            step.kind = Step::Kind::Library;
            step.symbol = call.getRoutine().str();
            for (AffineExpr parameter : call.getParameters().getResults())
              step.parameters.push_back(toDimExpr(parameter));
            program.steps.push_back(std::move(step));
          })
          .Case([&](func::ReturnOp ret) { addOutputs(ret); })
          .Default([&](Operation *other) {
            throw InternalError("operator '" + operatorName(other) + "' became no kernel");
          });
    return std::move(program);
  }

  std::vector<NumberedBuffer> numbered;

private:
  int addBuffer(Type type, BufferInfo::Kind kind, int index, const std::string &engine) {
    auto tensor = cast<RankedTensorType>(type);
    BufferInfo info;
    info.kind = kind;
    info.index = index;
    info.engine = engine;
    info.dtype = toDType(tensor.getElementType());
    info.bytes = toDimExpr(byteCount(tensor));
    info.firstStep = info.lastStep = static_cast<int>(program.steps.size());
    program.buffers.push_back(info);
    return static_cast<int>(program.buffers.size()) - 1;
  }

  /// The buffer as an engine has it. A constant is there from the start, anything else is copied.
  int bufferOn(const std::string &engine, int buffer) {
    if (program.buffers[buffer].engine == engine)
      return buffer;
    auto [known, isNew] = elsewhere.try_emplace({buffer, engine});
    if (!isNew)
      return known->second;
    BufferInfo copy = program.buffers[buffer];
    copy.engine = engine;
    if (copy.kind != BufferInfo::Kind::Constant) {
      copy.kind = BufferInfo::Kind::Temporary;
      copy.firstStep = copy.lastStep = static_cast<int>(program.steps.size());
    }
    int result = known->second = static_cast<int>(program.buffers.size());
    bool isConstant = copy.kind == BufferInfo::Kind::Constant;
    program.buffers.push_back(std::move(copy));
    if (!isConstant)
      addTransfer(buffer, result);
    return result;
  }

  void addTransfer(int from, int to) {
    BufferInfo &source = program.buffers[from];
    const std::string &destination = program.buffers[to].engine;
    Step step;
    step.kind = Step::Kind::Transfer;
    step.engine = destination == hostEngine ? source.engine : destination;
    step.name = names[from] + " to " + destination;
    step.symbol = "copy";
    step.operands = {from, to};
    step.parameters = {source.bytes};
    step.cost.bytesRead = step.cost.bytesWritten = source.bytes;
    source.lastStep = static_cast<int>(program.steps.size());
    program.steps.push_back(std::move(step));
  }

  void addConstant(hr::ConstantOp constant) {
    if (constant->use_empty())
      return;
    buffers[constant] = addBuffer(constant.getType(), BufferInfo::Kind::Constant,
                                  static_cast<int>(program.constants.size()), home);
    program.constants.push_back(hasConstants ? constantTensor(constant.getValue()) : Tensor());
  }

  /// A launch or a call, under the name that recipes have for it.
  template <class Op> Step makeStep(Op op) {
    Step step;
    step.name = kernelNameOf(op);
    if (step.name.empty())
      step.name = plainName(op.getName());
    step.engine = engineOf(op);
    step.cost = costOf(op.getCost());
    for (StringRef part : op.getOperators().template getAsValueRange<StringAttr>())
      step.operators.push_back(part.str());
    for (Value operand : op->getOperands())
      step.operands.push_back(bufferOn(step.engine, buffers.lookup(operand)));
    int now = static_cast<int>(program.steps.size());
    for (int buffer : step.operands)
      program.buffers[buffer].lastStep = now;
    for (OpResult result : op->getResults()) {
      int buffer = addBuffer(result.getType(), BufferInfo::Kind::Temporary, 0, step.engine);
      buffers[result] = buffer;
      names[buffer] = step.name;
      step.operands.push_back(buffer);
      if (std::optional<int64_t> number = valueNumber(result))
        numbered.push_back({buffer, *number, program.steps.size(), specOf(result.getType(), "")});
    }
    return step;
  }

  /// The number of slices that the kernel runs in, then the positions of the operands that are cut
  /// (runtime/program/Slices.h); empty if it runs as a whole.
  static std::vector<DimExpr> slicesOf(hr::LaunchOp launch) {
    std::vector<DimExpr> parameters;
    if (auto slices = launch->getAttrOfType<DenseI64ArrayAttr>(kSlicesAttr))
      for (int64_t value : slices.asArrayRef())
        parameters.push_back(DimExpr::constant(value));
    if (!parameters.empty() && parameters[0] == DimExpr::constant(-1))
      parameters[0] = toDimExpr(shapeOf(launch->getResult(0)).front());
    return parameters;
  }

  /// The result is the operand's memory; the step only looks at it.
  void addCheck(hr::CheckOp op) {
    ValueCheck check = op.getCheck();
    TensorSpec spec = specOf(op.getType(), "");
    int buffer = bufferOn(engineOf(op), buffers.lookup(op.getInput()));
    BufferInfo &info = program.buffers[buffer];
    Step step;
    step.kind = Step::Kind::Library;
    step.engine = engineOf(op);
    step.name = op.getSubject().str();
    step.symbol = checkSymbol(check.kind);
    step.operands = {buffer};
    step.parameters =
        checkParameters(spec.dtype, toDimExpr(op.getBounds().getResult(0)),
                        toDimExpr(op.getBounds().getResult(1)), check.excepted, spec.dims);
    step.operators = {operatorName(op)};
    step.cost.bytesRead = info.bytes;
    info.lastStep = static_cast<int>(program.steps.size());
    program.steps.push_back(std::move(step));
    buffers[op] = buffers.lookup(op.getInput());
  }

  /// A temporary that is returned is the output's own memory; anything else is copied there.
  void addOutputs(func::ReturnOp ret) {
    for (auto [i, value] : llvm::enumerate(ret.getOperands())) {
      int buffer = bufferOn(home, buffers.lookup(value));
      BufferInfo &info = program.buffers[buffer];
      if (info.kind == BufferInfo::Kind::Temporary) {
        info.kind = BufferInfo::Kind::Output;
        info.index = static_cast<int>(i);
        continue;
      }
      Step copy;
      copy.kind = Step::Kind::Library;
      copy.engine = home;
      copy.name = copy.symbol = "copy";
      DimExpr bytes = info.bytes;
      copy.parameters = {bytes};
      copy.cost.bytesRead = copy.cost.bytesWritten = bytes;
      info.lastStep = static_cast<int>(program.steps.size());
      int output = addBuffer(value.getType(), BufferInfo::Kind::Output, static_cast<int>(i), home);
      copy.operands = {buffer, output};
      program.steps.push_back(std::move(copy));
    }
  }

  func::FuncOp function;
  const std::string home;
  const bool hasConstants;
  Program program;
  llvm::DenseMap<Value, int> buffers;
  std::map<int, std::string> names; // of what buffers hold, for transfers
  std::map<std::pair<int, std::string>, int> elsewhere;
};

} // namespace

std::vector<TensorSpec> inputSpecs(func::FuncOp function) {
  std::vector<TensorSpec> specs;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttr);
    specs.push_back(specOf(function.getArgument(i).getType(),
                           name ? name.getValue() : StringRef("input" + std::to_string(i)),
                           function.getArgAttrOfType<TypeAttr>(i, kTypeAttr)));
  }
  return specs;
}

std::vector<TensorSpec> outputSpecs(func::FuncOp function) {
  std::vector<TensorSpec> specs;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto name = function.getResultAttrOfType<StringAttr>(i, kNameAttr);
    specs.push_back(specOf(function.getResultTypes()[i],
                           name ? name.getValue() : StringRef("output" + std::to_string(i)),
                           function.getResultAttrOfType<TypeAttr>(i, kTypeAttr)));
  }
  return specs;
}

std::vector<TensorSpec> weightSpecs(func::FuncOp function) {
  std::vector<TensorSpec> specs;
  for (auto constant : function.getOps<hr::ConstantOp>())
    if (isa<NameLoc>(constant.getLoc()) &&
        isa<FloatType>(cast<RankedTensorType>(constant.getType()).getElementType()))
      specs.push_back(specOf(constant.getType(), operatorName(constant)));
  return specs;
}

std::vector<std::string> symbolNames(func::FuncOp function) {
  std::vector<std::string> names;
  if (auto symbols = function->getAttrOfType<ArrayAttr>(kSymbolsAttr))
    for (StringRef name : symbols.getAsValueRange<StringAttr>())
      names.push_back(name.str());
  return names;
}

std::vector<Symbol> symbolGuards(func::FuncOp function, int64_t least) {
  std::vector<Symbol> guards;
  auto minima = function->getAttrOfType<DenseI64ArrayAttr>(kSymbolMinAttr);
  auto maxima = function->getAttrOfType<DenseI64ArrayAttr>(kSymbolMaxAttr);
  for (auto [i, name] : llvm::enumerate(symbolNames(function))) {
    Symbol symbol{name, least};
    if (minima)
      symbol.min = std::max(least, minima[i]);
    if (maxima)
      symbol.max = maxima[i];
    guards.push_back(symbol);
  }
  return guards;
}

Program buildProgram(func::FuncOp function) { return ProgramBuilder(function).build(); }

Program buildProgramWithoutData(func::FuncOp function) {
  return ProgramBuilder(function, /*hasConstants=*/false).build();
}

std::vector<NumberedBuffer> numberedBuffers(func::FuncOp function) {
  ProgramBuilder builder(function, /*hasConstants=*/false);
  (void)builder.build();
  return std::move(builder.numbered);
}

} // namespace headrace
