#include "analysis/OperatorWork.h"

#include "dialect/ExpectedSizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace headrace {

SizeHints sizeHints(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto expected = op->getAttrOfType<DenseI64ArrayAttr>(kExpectedSizesAttr))
      return SizeHints({expected.asArrayRef().begin(), expected.asArrayRef().end()});
  return {};
}

int64_t sizeHint(AffineExpr size, const SizeHints &sizes) {
  if (auto constant = constantValue(size))
    return std::clamp<int64_t>(*constant, 0, SizeHints::kMax);
  try {
    return sizes.of(toDimExpr(size));
  } catch (const std::exception &) { // a size that is too large to compute with
    return SizeHints::kMax;
  }
}

static double elementBytes(Value value) {
  return std::max(1.0, cast<RankedTensorType>(value.getType()).getElementTypeBitWidth() / 8.0);
}

double bytesAtHints(Value value, const SizeHints &sizes) {
  double bytes = elementBytes(value);
  for (AffineExpr size : shapeOf(value))
    bytes *= static_cast<double>(sizeHint(size, sizes));
  return bytes;
}

DType rateType(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIntOrFloat() ? toDType(element) : DType::F32;
}

DType productType(Value left, Value right) {
  DType first = rateType(left.getType()), second = rateType(right.getType());
  return sizeOf(first) >= sizeOf(second) ? first : second;
}

/// Division by a power of two is a multiplication.
static bool dividesExactly(arith::DivFOp op) {
  FloatAttr divisor;
  if (!matchPattern(op.getRhs(), m_Constant(&divisor)))
    return false;
  APFloat inverse(divisor.getValue());
  return divisor.getValue().getExactInverse(&inverse);
}

ScalarOperations scalarOperations(Region &body, llvm::function_ref<bool(BlockArgument)> varies) {
  // Costs of the list of functions, in units of an exponential's.
  static const llvm::StringMap<double> functions = [] {
    llvm::StringMap<double> costs;
    auto add = [&](StringRef name, double cost) { costs[name] = cost; };
#define HEADRACE_FUNCTION(Id, name, value, Operation, derivative, cost, growth, onnx, version,     \
                          script)                                                                  \
  add(Operation::getOperationName(), cost);
#include "runtime/scalar/Functions.def"
    return costs;
  }();
  constexpr double exponential = 8, cheap = 1, root = 2;
  ScalarOperations count;
  llvm::DenseSet<Value> fixed; // the same at every point
  body.walk([&](Operation *op) {
    auto isFixed = [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      return fixed.contains(value) || (argument && varies && !varies(argument));
    };
    if (op->hasTrait<OpTrait::IsTerminator>())
      return;
    if (isa<arith::ConstantOp, hr::SizeOp>(op) ||
        (op->getNumRegions() == 0 && op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperands(), isFixed))) {
      fixed.insert(op->result_begin(), op->result_end());
      return;
    }
    if (auto division = dyn_cast<arith::DivFOp>(op); division && dividesExactly(division))
      count.simple += 1;
    else if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemFOp, arith::RemSIOp,
                 arith::RemUIOp, math::RsqrtOp>(op))
      count.division += 1;
    else if (isa<math::PowFOp, math::Atan2Op>(op))
      count.elementary += 2.5;
    else if (auto known = functions.find(op->getName().getStringRef()); known == functions.end())
      count.simple += 1;
    else if (known->second <= cheap)
      count.simple += 1;
    else if (known->second <= root)
      count.division += 1;
    else
      count.elementary += known->second / exponential;
  });
  return count;
}

namespace {

/// Windows over each channel use no operand for several results; nothing is kept in registers.
OperationKind kindOf(Operation *op) {
  if (isa<hr::ContractOp, hr::AttentionOp>(op))
    return OperationKind::Product;
  if (auto conv = dyn_cast<hr::ConvOp>(op))
    return conv.getGroups() == 1 ? OperationKind::Product : OperationKind::Window;
  return isa<hr::PoolOp, hr::ConvFilterOp>(op) ? OperationKind::Window : OperationKind::Simple;
}

/// Whether loops over the operator's domain find elements of the operand by numbers they read.
bool readsByIndex(hr::OperatorInterface op, const Movement &movement, size_t operand) {
  // Others, such as attention, have loops of their own for operands without a map.
  auto areNumbers = [](Value value) { return isa<IntegerType>(getElementTypeOrSelf(value)); };
  return operand + 1 < movement.maps.size() && !movement.maps[operand] &&
         llvm::any_of(op->getOperands(), areNumbers);
}

} // namespace

AffineExpr bytesRead(hr::OperatorInterface op, unsigned operand, const SizeHints &sizes) {
  auto type = cast<RankedTensorType>(op->getOperand(operand).getType());
  AffineExpr all = byteCount(type);
  Movement movement = op.getMovement();
  if (!readsByIndex(op, movement, operand))
    return all;
  SymbolicShape picked(movement.domain.begin(), movement.domain.end());
  AffineExpr bytes = byteCount(tensorType(picked, type.getElementType()));
  return sizeHint(bytes, sizes) < sizeHint(all, sizes) ? bytes : all;
}

Work workOf(hr::OperatorInterface op, const SizeHints &sizes) {
  Work work;
  Movement movement = op.getMovement();
  double points = 1, results = 1;
  for (auto [size, kind] : llvm::zip(movement.domain, movement.iterators)) {
    points *= static_cast<double>(sizeHint(size, sizes));
    if (kind == utils::IteratorType::parallel)
      results *= static_cast<double>(sizeHint(size, sizes));
  }
  double total = bytesAtHints(op->getResult(0), sizes);
  llvm::SmallDenseSet<Value> seen;
  work.streams.push_back({total, 0, static_cast<int>(op->getNumOperands())});
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (seen.insert(operand).second) {
      auto bytes = static_cast<double>(sizeHint(bytesRead(op, i, sizes), sizes));
      total += bytes;
      work.streams.push_back({bytes, 0, static_cast<int>(i)});
    }
  for (Work::Stream &stream : work.streams)
    stream.workingSet = total;
  work.parts = results;
  DType type = kindOf(op) == OperationKind::Product
                   ? productType(op->getOperand(0), op->getOperand(1))
                   : rateType(op->getResult(0).getType());
  auto add = [&](OperationKind kind, double each) {
    if (each > 0)
      work.arithmetic.push_back({kind, type, each * points});
  };
  if (auto map = dyn_cast<hr::MapOp>(op.getOperation())) {
    ScalarOperations each = scalarOperations(map.getBody());
    add(OperationKind::Simple, each.simple);
    add(OperationKind::Division, each.division);
    add(OperationKind::Elementary, each.elementary);
  } else {
    add(kindOf(op), static_cast<double>(movement.operationsPerPoint));
  }
  for (size_t i = 0; i < op->getNumOperands(); ++i)
    if (readsByIndex(op, movement, i))
      add(OperationKind::Scalar, 1);
  return work;
}

} // namespace headrace
