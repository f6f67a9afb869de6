#include "dialect/reference/Evaluator.h"

#include "dialect/SymbolicShape.h"
#include "dialect/reference/KernelEvaluator.h"
#include "runtime/system/Interruption.h"

#include <cstring>

using namespace mlir;
using namespace headrace::reference;

namespace headrace {

namespace {

/// The values of a function while it is evaluated, each kept until its last use.
class LiveValues {
public:
  explicit LiveValues(Sizes symbols) : symbols(symbols) {}

  void set(Value value, Tensor tensor) {
    if (!value.use_empty())
      live[value] = {std::move(tensor), std::distance(value.use_begin(), value.use_end())};
  }

  Tensor use(Value value) {
    // Weights are widened only when needed: together they may be large.
    if (auto constant = value.getDefiningOp<hr::ConstantOp>(); constant && !live.contains(value))
      set(value, constant.evaluate({}, symbols));
    auto entry = live.find(value);
    if (entry == live.end())
      throw InternalError("a value is used before it is computed");
    Tensor tensor = entry->second.tensor;
    if (--entry->second.usesLeft == 0)
      live.erase(entry);
    return tensor;
  }

private:
  struct Entry {
    Tensor tensor;
    int64_t usesLeft;
  };
  llvm::DenseMap<Value, Entry> live;
  Sizes symbols;
};

} // namespace

static std::string inputName(func::FuncOp function, unsigned index) {
  if (auto name = function.getArgAttrOfType<StringAttr>(index, kNameAttr))
    return "input '" + name.str() + "'";
  return "input " + std::to_string(index);
}

static void checkInputs(func::FuncOp function, Tensors inputs, Sizes symbols) {
  if (inputs.size() != function.getNumArguments())
    throw Error(ErrorKind::MissingInput, "program '" + function.getName().str() + "': expected " +
                                             std::to_string(function.getNumArguments()) +
                                             " inputs, got " + std::to_string(inputs.size()));
  for (auto [i, input] : llvm::enumerate(inputs)) {
    Value argument = function.getArgument(i);
    DType dtype = toDType(cast<RankedTensorType>(argument.getType()).getElementType());
    if (input.dtype() != dtype)
      throw Error(ErrorKind::TypeMismatch, inputName(function, i) + ": expected type " +
                                               std::string(nameOf(dtype)) + ", got " +
                                               std::string(nameOf(input.dtype())));
    Shape shape = resultShape(argument, symbols);
    if (input.shape() != shape)
      throw Error(ErrorKind::ShapeMismatch, inputName(function, i) + ": expected shape " +
                                                shapeString(shape) + ", got " +
                                                shapeString(input.shape()));
  }
}

/// Results outlive the IR, whose constants are borrowed.
static Tensor owned(Tensor tensor) {
  if (tensor.owner())
    return tensor;
  Tensor copy = Tensor::allocate(tensor.dtype(), tensor.shape());
  if (tensor.bytes() > 0)
    std::memcpy(copy.data(), tensor.data(), tensor.bytes());
  return copy;
}

/// What an observer knows of an operation that cannot be evaluated.
static void setKnownResults(Operation &op, Tensors operands, LiveValues &values,
                            EvaluationObserver *observer) {
  for (OpResult result : op.getResults()) {
    Tensor known = observer ? observer->knownResult(result, operands) : Tensor();
    if (!known)
      throw InternalError("the reference has no operator " + op.getName().getStringRef().str());
    values.set(result, std::move(known));
  }
}

std::vector<Tensor> evaluateFunction(func::FuncOp function, ArrayRef<Tensor> inputs,
                                     ArrayRef<int64_t> symbols, bool keepDouble,
                                     EvaluationObserver *observer) {
  checkInputs(function, inputs, symbols);
  LiveValues values(symbols);
  auto elementType = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  };
  for (auto [argument, input] : llvm::zip(function.getArguments(), inputs))
    values.set(argument, widened(input, elementType(argument)));

  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator()) {
    pollInterruption();
    if (isa<hr::ConstantOp>(op))
      continue;
    SmallVector<Tensor> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.use(operand));
    if (auto kernel = dyn_cast<hr::KernelOp>(op)) {
      std::vector<Tensor> results = evaluateKernel(kernel, operands, symbols);
      for (auto [result, tensor] : llvm::zip_equal(kernel.getResults(), results))
        values.set(result, tensor);
      continue;
    }
    auto interface = dyn_cast<hr::OperatorInterface>(op);
    if (!interface) {
      setKnownResults(op, operands, values, observer);
      continue;
    }
    if (observer)
      observer->changeOperands(op, operands);
    Tensor result = observer ? observer->ownResult(op, operands) : Tensor();
    if (!result)
      result = interface.evaluate(operands, symbols);
    values.set(op.getResult(0),
               observer ? observer->changedResult(op, std::move(result)) : std::move(result));
  }

  std::vector<Tensor> results;
  for (Value result : body.getTerminator()->getOperands()) {
    Tensor tensor = values.use(result);
    bool keep = keepDouble && tensor.dtype() == DType::F64;
    results.push_back(owned(keep ? tensor : narrowed(tensor, toDType(elementType(result)))));
  }
  return results;
}

} // namespace headrace
