#include "dialect/Hr.h"

#include "dialect/SymbolicShape.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace headrace {

std::string operatorName(Operation *op) {
  if (auto name = dyn_cast<NameLoc>(op->getLoc()))
    return name.getName().str();
  return op->getName().stripDialect().str();
}

std::string kernelName(Operation *op) {
  std::string name = operatorName(op);
  if (isa<hr::PadOp, hr::TransposeOp>(op))
    name += ":" + op->getName().stripDialect().str();
  return name;
}

Value createMap(OpBuilder &builder, Location loc, ValueRange inputs,
                function_ref<Value(OpBuilder &, ValueRange)> body) {
  SymbolicShape shape = shapeOf(inputs.front());
  for (Value input : inputs.drop_front())
    shape = *broadcastShapes(shape, shapeOf(input));
  // The element type is known once the body is built.
  OperationState state(loc, hr::MapOp::getOperationName());
  state.addOperands(inputs);
  Block *block = new Block;
  state.addRegion()->push_back(block);
  OpBuilder inner(builder.getContext());
  inner.setInsertionPointToStart(block);
  for (Value input : inputs)
    block->addArgument(cast<RankedTensorType>(input.getType()).getElementType(), loc);
  Value result = body(inner, block->getArguments());
  inner.setInsertionPointToEnd(block);
  inner.create<hr::YieldOp>(loc, result);
  state.addTypes(tensorType(shape, result.getType()));
  return builder.create(state)->getResult(0);
}

} // namespace headrace
