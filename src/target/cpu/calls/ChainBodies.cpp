#include "target/cpu/calls/ChainBodies.h"

#include "dialect/ConstantData.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;

namespace headrace {

Value ChainBodies::sourceOf(Value value) const {
  while (auto argument = dyn_cast<BlockArgument>(value)) {
    auto producer = tensorOf(argument).getDefiningOp<hr::MapOp>();
    if (!producer || !hasShapeOfSums(producer.getResult()) ||
        (value.getType().isInteger(8) && !llvm::is_contained(chain, producer)))
      break;
    value = producer.getBody().front().getTerminator()->getOperand(0);
  }
  return value;
}

std::optional<SmallVector<double>> ChainBodies::constantOf(Value given) const {
  Value value = sourceOf(given);
  if (auto inside = value.getDefiningOp<arith::ConstantOp>()) {
    if (auto real = dyn_cast<FloatAttr>(inside.getValue()))
      return SmallVector<double>{real.getValueAsDouble()};
    auto integer = dyn_cast<IntegerAttr>(inside.getValue());
    return integer ? std::optional(SmallVector<double>{double(integer.getInt())}) : std::nullopt;
  }
  // Conversions of constants that were not folded.
  if (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::SIToFPOp, arith::UIToFPOp, arith::ExtSIOp, arith::ExtUIOp>(op))
      return std::nullopt;
    auto numbers = constantOf(op->getOperand(0));
    unsigned width = op->getOperand(0).getType().getIntOrFloatBitWidth();
    if (numbers && isa<arith::UIToFPOp, arith::ExtUIOp>(op))
      for (double &number : *numbers)
        number += number < 0 ? std::ldexp(1.0, static_cast<int>(width)) : 0;
    if (numbers && isa<FloatType>(op->getResult(0).getType()))
      for (double &number : *numbers)
        number = static_cast<float>(number);
    return numbers;
  }
  auto constant = operandOf(value).getDefiningOp<hr::ConstantOp>();
  if (!constant)
    return std::nullopt;
  Tensor tensor = constantTensor(constant.getValue());
  auto type = cast<RankedTensorType>(constant.getType());
  bool isRow = type.getRank() > 0 && type.getShape().back() == tensor.elements();
  if (tensor.elements() != 1 && (!isRow || tensor.elements() != columns()))
    return std::nullopt;
  Tensor wide = tensor.converted(DType::F64);
  return SmallVector<double>(ArrayRef(wide.as<double>(), wide.elements()));
}

} // namespace headrace
