#include "transform/expansion/ExpansionEstimates.h"

using namespace mlir;

namespace headrace {
namespace {

constexpr double kGuessedSize = 8; // of a symbolic dimension
constexpr double kGigahertz = 3.0; // only ratios of estimates matter

double sizeOrGuess(AffineExpr expr) {
  if (auto constant = constantValue(expr))
    return static_cast<double>(*constant);
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (binary && expr.getKind() == AffineExprKind::Mul)
    return sizeOrGuess(binary.getLHS()) * sizeOrGuess(binary.getRHS());
  return kGuessedSize;
}

double operationsOf(Operation *op) {
  double operations = 2;
  for (AffineExpr size : cast<hr::OperatorInterface>(op).getMovement().domain)
    operations *= sizeOrGuess(size);
  return operations;
}

} // namespace

double bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return sizeOrGuess(elementCount(shapeOf(type), value.getContext())) *
         type.getElementTypeBitWidth() / 8;
}

double computeMicroseconds(Operation *op, const Machine &machine, double efficiency) {
  auto bits = cast<RankedTensorType>(op->getResult(0).getType()).getElementTypeBitWidth();
  double perCycle = 2.0 * static_cast<double>(machine.lanes(std::max(1u, bits / 8)));
  return operationsOf(op) / (perCycle * kGigahertz * 1e3 * efficiency);
}

double deviceMicroseconds(Operation *op, double efficiency, double tile) {
  constexpr double processors = 132;
  constexpr double singles = 50e6, halves = 750e6; // operations a microsecond
  Value result = op->getResult(0);
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  double rate = type.getElementTypeBitWidth() <= 16 ? halves : singles;
  double results = sizeOrGuess(elementCount(shapeOf(result), op->getContext()));
  double filled = std::min(1.0, std::max(1.0, results / (tile * tile)) / processors);
  double moved = bytesOf(result);
  for (Value operand : op->getOperands())
    moved += bytesOf(operand);
  return std::max(operationsOf(op) / (rate * efficiency * filled),
                  moved / kDeviceBytesPerMicrosecond);
}

} // namespace headrace
