#include "dialect/Hr.h"

#include "dialect/ConstantPool.h"
#include "dialect/PatternSets.h"
#include "dialect/SymbolicShape.h"
#include "dialect/ops/folds/Folds.h"
#include "dialect/ops/systems/Systems.h"
#include "dialect/ops/trees/Trees.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "dialect/HrDialect.cpp.inc"
#include "dialect/HrEnums.cpp.inc"
#include "dialect/HrInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/HrAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/HrTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/HrOps.cpp.inc"

namespace headrace {

namespace hr {
void HrDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/HrAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/HrTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/HrOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/Systems.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/Trees.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/Folds.cpp.inc"
      >();
  addInterfaces<ConstantPool, PatternSets>();
}
} // namespace hr

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
