#include "dialect/scalar/ScalarPatterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace headrace {

static bool isZero(Value value) { return matchPattern(value, m_AnyZeroFloat()); }

std::optional<Softplus> matchSoftplus(Value value) {
  auto sum = value.getDefiningOp<arith::AddFOp>();
  if (!sum)
    return std::nullopt;
  for (auto [first, second] :
       {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())}) {
    auto ramp = first.getDefiningOp<arith::MaximumFOp>();
    auto logarithm = second.getDefiningOp<math::Log1pOp>();
    if (!ramp || !logarithm || !(isZero(ramp.getRhs()) || isZero(ramp.getLhs())))
      continue;
    Value x = isZero(ramp.getRhs()) ? ramp.getLhs() : ramp.getRhs();
    auto exponential = logarithm.getOperand().getDefiningOp<math::ExpOp>();
    auto negation =
        exponential ? exponential.getOperand().getDefiningOp<arith::NegFOp>() : arith::NegFOp();
    auto magnitude =
        negation ? negation.getOperand().getDefiningOp<math::AbsFOp>() : math::AbsFOp();
    if (magnitude && magnitude.getOperand() == x)
      return Softplus{x, exponential.getResult()};
  }
  return std::nullopt;
}

std::optional<Value> matchLogistic(Value value) {
  auto quotient = value.getDefiningOp<arith::DivFOp>();
  if (!quotient || !matchPattern(quotient.getLhs(), m_OneFloat()))
    return std::nullopt;
  auto sum = quotient.getRhs().getDefiningOp<arith::AddFOp>();
  if (!sum)
    return std::nullopt;
  Value term = matchPattern(sum.getLhs(), m_OneFloat()) ? sum.getRhs() : sum.getLhs();
  Value one = term == sum.getRhs() ? sum.getLhs() : sum.getRhs();
  auto exponential = term.getDefiningOp<math::ExpOp>();
  auto negation =
      exponential ? exponential.getOperand().getDefiningOp<arith::NegFOp>() : arith::NegFOp();
  if (!negation || !matchPattern(one, m_OneFloat()))
    return std::nullopt;
  return negation.getOperand();
}

} // namespace headrace
