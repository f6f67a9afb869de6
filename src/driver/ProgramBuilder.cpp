#include "driver/ProgramBuilder.h"

#include "dialect/ConstantData.h"
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "runtime/program/ValueCheck.h"
#include "runtime/system/Error.h"

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

class ProgramBuilder {
public:
  explicit ProgramBuilder(func::FuncOp function) : function(function) {}

  Program build() {
    program.name = function.getName().str();
    program.symbols = symbolGuards(function, /*least=*/2);
    program.inputs = inputSpecs(function);
    program.outputs = outputSpecs(function);
    for (BlockArgument argument : function.getArguments())
      buffers[argument] = addBuffer(argument.getType(), BufferInfo::Kind::Input,
                                    static_cast<int>(argument.getArgNumber()));
    for (Operation &op : function.getBody().front())
      llvm::TypeSwitch<Operation *>(&op)
          .Case([&](hr::ConstantOp constant) { addConstant(constant); })
          .Case([&](hr::ReshapeOp view) { buffers[view] = buffers.lookup(view.getInput()); })
          .Case([&](hr::CheckOp check) { addCheck(check); })
          .Case([&](hr::LaunchOp launch) {
            Step step = makeStep(launch, launch.getName(), launch.getOperators(), launch.getCost());
            step.kind = Step::Kind::Kernel;
            step.symbol = launch.getKernel().str();
            program.steps.push_back(std::move(step));
          })
          .Case([&](hr::LibraryOp call) {
            Step step = makeStep(call, call.getName(), call.getOperators(), call.getCost());
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

private:
  int addBuffer(Type type, BufferInfo::Kind kind, int index) {
    auto tensor = cast<RankedTensorType>(type);
    BufferInfo info;
    info.kind = kind;
    info.index = index;
    info.dtype = toDType(tensor.getElementType());
    info.bytes = toDimExpr(byteCount(tensor));
    info.firstStep = info.lastStep = static_cast<int>(program.steps.size());
    program.buffers.push_back(info);
    return static_cast<int>(program.buffers.size()) - 1;
  }

  void addConstant(hr::ConstantOp constant) {
    if (constant->use_empty())
      return;
    buffers[constant] = addBuffer(constant.getType(), BufferInfo::Kind::Constant,
                                  static_cast<int>(program.constants.size()));
    program.constants.push_back(constantTensor(constant.getValue()));
  }

  Step makeStep(Operation *op, StringRef name, ArrayAttr operators, AffineMap cost) {
    Step step;
    step.name = name.str();
    step.cost = costOf(cost);
    for (StringRef part : operators.getAsValueRange<StringAttr>())
      step.operators.push_back(part.str());
    int now = static_cast<int>(program.steps.size());
    for (Value operand : op->getOperands()) {
      int buffer = buffers.lookup(operand);
      program.buffers[buffer].lastStep = now;
      step.operands.push_back(buffer);
    }
    for (Value result : op->getResults()) {
      buffers[result] = addBuffer(result.getType(), BufferInfo::Kind::Temporary, 0);
      step.operands.push_back(buffers[result]);
    }
    return step;
  }

  /// The result is the operand's memory; the step only looks at it.
  void addCheck(hr::CheckOp op) {
    ValueCheck check = op.getCheck();
    TensorSpec spec = specOf(op.getType(), "");
    int buffer = buffers.lookup(op.getInput());
    BufferInfo &info = program.buffers[buffer];
    Step step;
    step.kind = Step::Kind::Library;
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
    buffers[op] = buffer;
  }

  /// A temporary that is returned is the output's own memory; anything else is copied there.
  void addOutputs(func::ReturnOp ret) {
    for (auto [i, value] : llvm::enumerate(ret.getOperands())) {
      int buffer = buffers.lookup(value);
      BufferInfo &info = program.buffers[buffer];
      if (info.kind == BufferInfo::Kind::Temporary) {
        info.kind = BufferInfo::Kind::Output;
        info.index = static_cast<int>(i);
        continue;
      }
      Step copy;
      copy.kind = Step::Kind::Library;
      copy.name = copy.symbol = "copy";
      DimExpr bytes = info.bytes;
      copy.parameters = {bytes};
      copy.cost.bytesRead = copy.cost.bytesWritten = bytes;
      info.lastStep = static_cast<int>(program.steps.size());
      int output = addBuffer(value.getType(), BufferInfo::Kind::Output, static_cast<int>(i));
      copy.operands = {buffer, output};
      program.steps.push_back(std::move(copy));
    }
  }

  func::FuncOp function;
  Program program;
  llvm::DenseMap<Value, int> buffers;
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

} // namespace headrace
