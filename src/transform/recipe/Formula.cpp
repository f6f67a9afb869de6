#include "transform/recipe/Formula.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace headrace {

std::string formulaOf(hr::OperatorInterface op) {
  Movement movement = op.getMovement();
  if (llvm::any_of(ArrayRef(movement.maps).take_front(op->getNumOperands()),
                   [](AffineMap map) { return !map; }))
    return "";
  // The body is written into a block of its own, which is thrown away.
  Block block;
  Location loc = op.getLoc();
  for (Value operand : op->getOperands())
    block.addArgument(getElementTypeOrSelf(operand.getType()), loc);
  if (op.getInitialValue())
    block.addArgument(getElementTypeOrSelf(op->getResult(0).getType()), loc);
  OpBuilder b(op.getContext());
  b.setInsertionPointToEnd(&block);
  Value result = op.buildBody(b, block.getArguments());

  llvm::DenseMap<Value, std::string> names;
  for (BlockArgument argument : block.getArguments())
    names[argument] = std::string(1, static_cast<char>('a' + argument.getArgNumber() % 26));
  std::string text;
  llvm::raw_string_ostream os(text);
  for (Operation &scalar : block) {
    if (isa<hr::IndexOp>(scalar) || scalar.getNumRegions() > 0 || scalar.getNumResults() != 1)
      return "";
    names[scalar.getResult(0)] = "%" + std::to_string(names.size() - block.getNumArguments());
    os << names[scalar.getResult(0)] << " = " << scalar.getName() << "(";
    llvm::interleaveComma(scalar.getOperands(), os, [&](Value value) { os << names[value]; });
    os << ")";
    if (!scalar.getAttrs().empty() || scalar.getNumOperands() == 0)
      os << " " << scalar.getAttrDictionary();
    os << " ; ";
  }
  os << names[result];
  return text;
}

} // namespace headrace
