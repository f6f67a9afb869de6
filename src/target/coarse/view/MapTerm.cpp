// The body of a map as nested map and zip of scalar functions.
#include "rewrite/accelerator/HardwareOperators.h"
#include "target/coarse/view/OperatorTerms.h"

#include "llvm/ADT/StringMap.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace headrace::coarse {

using rewrite::ShapedTerm;

namespace {

/// The function of terms that an operation on scalars computes; empty if there is none, or one
/// of the elementary ones that no machine has: a search for it would be in vain.
StringRef functionOf(Operation &op) {
  static const llvm::StringMap<StringRef> elementary = {
#define HEADRACE_FUNCTION(Id, name, value, Operation, ...) {Operation::getOperationName(), #name},
#include "runtime/scalar/Functions.def"
  };
  static const llvm::StringMap<StringRef> arithmetic = {
      {"arith.addf", "add"}, {"arith.subf", "sub"},     {"arith.mulf", "mul"},
      {"arith.divf", "div"}, {"arith.maximumf", "max"}, {"arith.minimumf", "min"},
      {"arith.negf", "neg"},
  };
  StringRef operation = op.getName().getStringRef();
  if (StringRef name = arithmetic.lookup(operation); !name.empty())
    return name;
  StringRef name = elementary.lookup(operation);
  return rewrite::isOfMachines(std::string_view(name)) ? name : "";
}

bool isZero(Value value) { return matchPattern(value, m_AnyZeroFloat()); }

class Body {
public:
  Body(rewrite::TermBuilder &builder, OperandTerms &operands, rewrite::Shape shape)
      : builder(builder), operands(operands), shape(std::move(shape)) {}

  void set(Value value, ShapedTerm term) { values[value] = std::move(term); }

  ShapedTerm of(Value value) {
    if (auto known = values.find(value); known != values.end())
      return known->second;
    FloatAttr number;
    if (!matchPattern(value, m_Constant(&number)))
      refuse("reads a number that is not a constant");
    return values[value] = numbers(number.getValueAsDouble());
  }

  void compute(Operation &op) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      return;
    set(op.getResult(0), resultOf(op));
  }

private:
  ShapedTerm numbers(double number) { return builder.broadcast(operands.scalar(number), shape); }

  ShapedTerm resultOf(Operation &op) {
    if (isa<arith::MaximumFOp>(op))
      for (int i : {0, 1})
        if (isZero(op.getOperand(i)))
          return builder.function("relu", {of(op.getOperand(1 - i))});
    if (isa<arith::MulFOp>(op) && op.getOperand(0) == op.getOperand(1))
      return builder.function("square", {of(op.getOperand(0))});
    // Machines multiply, and few divide.
    FloatAttr divisor;
    if (isa<arith::DivFOp>(op) && matchPattern(op.getOperand(1), m_Constant(&divisor)) &&
        !divisor.getValue().isZero())
      return builder.function("mul",
                              {of(op.getOperand(0)), numbers(1 / divisor.getValueAsDouble())});
    StringRef name = functionOf(op);
    if (name.empty())
      refuse("terms have no function " + op.getName().getStringRef());
    std::vector<ShapedTerm> arguments;
    for (Value operand : op.getOperands())
      arguments.push_back(of(operand));
    return builder.function(std::string_view(name), arguments);
  }

  rewrite::TermBuilder &builder;
  OperandTerms &operands;
  rewrite::Shape shape;
  llvm::DenseMap<Value, ShapedTerm> values;
};

} // namespace

ShapedTerm mapTerm(hr::MapOp op, rewrite::TermBuilder &builder, OperandTerms &operands,
                   const BatchAxis &batch) {
  rewrite::Shape shape = batch.inner(op.getResult());
  Body body(builder, operands, shape);
  Block &block = op.getBody().front();
  for (auto [argument, input] : llvm::zip_equal(block.getArguments(), op.getInputs()))
    body.set(argument, builder.broadcast(operands.compact(input), batch.inner(input), shape));
  for (Operation &inner : block.without_terminator())
    body.compute(inner);
  return body.of(block.getTerminator()->getOperand(0));
}

} // namespace headrace::coarse
