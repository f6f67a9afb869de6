#include "dialect/rounding/RoundedArithmetic.h"

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "dialect/ops/systems/Systems.h"
#include "dialect/reference/RecurrenceSteps.h"
#include "dialect/reference/Reference.h"

#include <cmath>

using namespace mlir;
using namespace headrace::reference;

namespace headrace {

namespace {

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// The distance of 1 and the next larger number of the type.
double epsilonOf(FloatType type) {
  return std::ldexp(1.0, 1 - static_cast<int>(type.getFPMantissaWidth()));
}

/// f16 and bf16 are computed in f32.
double epsilonInside(FloatType type) { return std::min(epsilonOf(type), std::ldexp(1.0, -23)); }

bool isExact(Operation &op) {
  return isa<arith::ConstantOp, arith::SelectOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxNumFOp, arith::MinNumFOp, arith::NegFOp, arith::ExtFOp, math::AbsFOp,
             hr::ElementOp>(op);
}

/// Functions in the operator's body whose results are rounded.
int64_t roundedFunctions(Operation &op) {
  int64_t count = 0;
  for (Region &region : op.getRegions())
    region.walk([&](Operation *inner) {
      bool isFloat = inner->getNumResults() == 1 && isa<FloatType>(inner->getResult(0).getType());
      count += isFloat && !isExact(*inner);
    });
  return count;
}

/// How many values one element of the result sums; 0 for an operator that sums nothing.
int64_t summedValues(Operation &op, Sizes symbols) {
  auto interface = cast<hr::OperatorInterface>(op);
  bool isSum =
      interface.addsUp() || isa<hr::ContractOp, hr::ConvOp, hr::ConvFilterOp, hr::AttentionOp>(op);
  bool repeats = isa<hr::SolveOp>(op);
  if (!isSum && !repeats && !isa<hr::ComputeOp>(op))
    return 0;
  Movement movement = interface.getMovement();
  int64_t all = 1, longest = 1;
  for (auto [size, kind] : llvm::zip(movement.domain, movement.iterators))
    if (kind == utils::IteratorType::reduction) {
      int64_t value = evaluateSize(size, symbols);
      all *= std::max<int64_t>(value, 1);
      longest = std::max(longest, value);
    }
  if (isa<hr::ComputeOp>(op))
    return all > 1 ? all : 0;
  if (isa<hr::AttentionOp>(op)) // one sum of the results of another
    return longest;
  if (all > 1)
    return all;
  for (Value operand : op.getOperands())
    for (AffineExpr size : shapeOf(operand))
      longest = std::max(longest, evaluateSize(size, symbols));
  return longest;
}

/// Whether all values are integers whose sums of products need no rounding.
bool addsUpExactly(ArrayRef<Tensor> operands, int64_t count, double epsilon) {
  double largest = static_cast<double>(count);
  for (const Tensor &operand : operands) {
    if (operand.dtype() != DType::F64)
      continue;
    const double *values = operand.as<double>();
    double own = 1;
    for (int64_t i = 0; i < operand.elements(); ++i) {
      if (values[i] != std::trunc(values[i]))
        return false;
      own = std::max(own, std::abs(values[i]));
    }
    largest *= own;
  }
  return largest * epsilon < 1;
}

} // namespace

double RoundedArithmetic::random() {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-52 - 1.0;
}

Tensor RoundedArithmetic::moved(const Tensor &values, double most) {
  Tensor result = Tensor::allocate(DType::F64, values.shape());
  const double *from = values.as<double>();
  double *to = result.as<double>();
  for (int64_t i = 0; i < values.elements(); ++i)
    to[i] = from[i] * (1 + most * random());
  return result;
}

// The sum of n values one after the other, S_k after k of them, has the error sum(e_k S_k), each
// e_k up to half a unit. If the values have one sign that is about sqrt(n) / 3 units of the sum,
// and so it is if signs are random and the sum is about sqrt(n) values: an error relative to the
// result. If the sum cancels beyond that, the error stays: one relative to the operands.
void RoundedArithmetic::changeOperands(Operation &op, MutableArrayRef<Tensor> operands) {
  errorInside = errorOfResult = 0;
  auto type = dyn_cast<FloatType>(elementOf(op.getResult(0)));
  if (!type || op.getNumResults() != 1 || isa<hr::RecurOp>(op))
    return;
  double epsilon = epsilonInside(type);
  int64_t functions = roundedFunctions(op), summed = summedValues(op, symbols);
  if (summed > 0 && addsUpExactly(operands, summed, epsilon))
    return;
  if (functions > 0)
    errorOfResult = scale * epsilon / 2;
  // The operands of a single function stay as they are, however steep the function is at them. The
  // functions of a map are rounded one by one.
  if (functions > 1 && !isa<hr::MapOp>(op))
    errorInside = scale * epsilon / 2;
  if (summed > 0) {
    double units = scale * epsilon * std::sqrt(static_cast<double>(summed));
    errorOfResult = std::max(errorOfResult, 0.35 * units);
    errorInside = std::max(errorInside, 0.25 * units);
  }
  if (errorInside == 0)
    return;
  for (Tensor &operand : operands)
    if (operand.dtype() == DType::F64)
      operand = moved(operand, errorInside);
}

Tensor RoundedArithmetic::ownResult(Operation &op, ArrayRef<Tensor> operands) {
  if (auto recur = dyn_cast<hr::RecurOp>(op)) {
    Tensor states = evaluateRecurrence(
        recur, operands, symbols, [&](hr::ComputeOp step, MutableArrayRef<Tensor> values) {
          changeOperands(*step, values);
          return changedResult(*step, step.evaluate(values, symbols));
        });
    errorInside = errorOfResult = 0; // of the last step's operators
    return states;
  }
  auto map = dyn_cast<hr::MapOp>(op);
  if (!map || roundedFunctions(op) <= 1)
    return {};
  return evaluateMap(map, operands, symbols, this);
}

void RoundedArithmetic::changeScalar(Operation &op, Lanes &result) {
  auto type = dyn_cast<FloatType>(op.getResult(0).getType());
  if (!type || isExact(op))
    return;
  double most = scale * epsilonInside(type) / 2;
  for (double &value : result.floats) {
    // What needs no rounding has no error.
    bool isRounded = type.isF64() || static_cast<double>(static_cast<float>(value)) != value;
    if (isRounded)
      value *= 1 + most * random();
  }
}

Tensor RoundedArithmetic::changedResult(Operation &op, Tensor result) {
  auto type = dyn_cast<FloatType>(elementOf(op.getResult(0)));
  if (!type || result.dtype() != DType::F64 || errorOfResult == 0)
    return result;
  DType declared = toDType(type);
  auto rounded = [&](const Tensor &values) {
    return declared == DType::F64 ? values : widened(narrowed(values, declared), type);
  };
  Tensor nearest = rounded(result);
  Tensor disturbed = rounded(moved(result, errorOfResult));
  if (declared == DType::F64 || errorInside > 0)
    return disturbed;
  // What needs no rounding has no error.
  const double *exact = result.as<double>(), *near = nearest.as<double>();
  double *values = disturbed.as<double>();
  for (int64_t i = 0; i < result.elements(); ++i)
    if (exact[i] == near[i])
      values[i] = near[i];
  return disturbed;
}

} // namespace headrace
