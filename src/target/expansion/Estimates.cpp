#include "target/expansion/Estimates.h"

using namespace mlir;

namespace headrace {

constexpr double kGuessedSize = 8;         // of a symbolic dimension: a batch
constexpr double kGuessedMatrixSize = 512; // of one of a script's matrices, which are of doubles
constexpr double kGigahertz = 3.0;         // only ratios of estimates matter

static double sizeOrGuess(AffineExpr expr, double guess) {
  if (auto constant = constantValue(expr))
    return static_cast<double>(*constant);
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (binary && expr.getKind() == AffineExprKind::Mul)
    return sizeOrGuess(binary.getLHS(), guess) * sizeOrGuess(binary.getRHS(), guess);
  return guess;
}

static double guessFor(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType().isF64() ? kGuessedMatrixSize
                                                                          : kGuessedSize;
}

double sizeOrGuess(AffineExpr size) { return sizeOrGuess(size, kGuessedSize); }

double operationsOf(Operation *op) {
  double operations = 2;
  for (AffineExpr size : cast<hr::OperatorInterface>(op).getMovement().domain)
    operations *= sizeOrGuess(size, guessFor(op->getResult(0)));
  return operations;
}

double bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return sizeOrGuess(elementCount(shapeOf(type), value.getContext()), guessFor(value)) *
         type.getElementTypeBitWidth() / 8;
}

double computeMicroseconds(Operation *op, const Machine &machine, double efficiency) {
  auto bits = cast<RankedTensorType>(op->getResult(0).getType()).getElementTypeBitWidth();
  double perCycle = 2.0 * static_cast<double>(machine.lanes(std::max(1u, bits / 8)));
  return operationsOf(op) / (perCycle * kGigahertz * 1e3 * efficiency);
}

} // namespace headrace
