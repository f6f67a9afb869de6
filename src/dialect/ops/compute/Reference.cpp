// Reference evaluation of the general structured operator.
#include "dialect/scalar/ScalarBody.h"
#include "runtime/system/Interruption.h"

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

/// Results computed at once.
static constexpr int64_t kBlock = 4096;

namespace {

/// Walks the results in blocks; the reduced dimensions one point at a time, in order.
class ComputeEvaluator {
public:
  ComputeEvaluator(ComputeOp op, Tensors operands, Sizes symbols)
      : op(op), operands(operands), symbols(symbols),
        rank(op.getDomain().getNumResults() - op.getReduced()) {
    for (AffineExpr size : op.getDomain().getResults())
      sizes.push_back(evaluateSize(size, symbols));
    for (AffineMap map : op.getMaps().getAsValueRange<AffineMapAttr>())
      maps.push_back(map);
  }

  Tensor run() {
    Tensor result = allocateResult(op.getResult(), symbols);
    Type element = cast<RankedTensorType>(op.getType()).getElementType();
    for (int64_t begin = 0; begin < result.elements(); begin += kBlock) {
      pollInterruption();
      storeLanes(block(begin, std::min(kBlock, result.elements() - begin)), element, result, begin);
    }
    return result;
  }

private:
  Lanes block(int64_t begin, int64_t count) {
    std::vector<Lanes> positions(sizes.size());
    int64_t distance = 1;
    for (int64_t d = rank; d-- > 0;) {
      for (int64_t i = 0; i < count; ++i)
        positions[d].integers.push_back((begin + i) / distance % sizes[d]);
      distance *= sizes[d];
    }
    if (op.getReduced() == 0)
      return valuesAt(std::move(positions), count);
    Sizes reduced = Sizes(sizes).drop_front(rank);
    Lanes sum = splat(op.getInitialValue(), count);
    if (llvm::is_contained(reduced, 0))
      return sum;
    SmallVector<int64_t> point(reduced.size(), 0);
    do {
      pollInterruption();
      for (size_t d = 0; d < reduced.size(); ++d)
        positions[rank + d].integers.assign(count, point[d]);
      Lanes next = valuesAt(positions, count);
      sum =
          evaluateBody(op.getCombine().front(), {std::move(sum), std::move(next)}, count, symbols);
    } while (advance(point, reduced));
    return sum;
  }

  Lanes valuesAt(std::vector<Lanes> positions, int64_t count) {
    std::vector<Lanes> arguments;
    for (auto [i, map] : llvm::enumerate(maps))
      arguments.push_back(elementsAt(operands[i], op.getInputs()[i], map, positions, count));
    BodySurroundings surroundings{std::move(positions), operands.drop_front(maps.size())};
    return evaluateBody(op.getBody().front(), std::move(arguments), count, symbols, surroundings);
  }

  Lanes elementsAt(const Tensor &operand, Value value, AffineMap map,
                   const std::vector<Lanes> &positions, int64_t count) {
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    Lanes result;
    for (int64_t i = 0; i < count; ++i) {
      int64_t offset = 0;
      for (auto [expr, size] : llvm::zip(map.getResults(), operand.shape())) {
        int64_t index = valueAt(expr, positions, i);
        if (index < 0 || index >= size)
          throw InternalError(operatorName(op) + " reads element " + std::to_string(index) +
                              " of a dimension of size " + std::to_string(size));
        offset = offset * size + index;
      }
      Lanes lane = loadLanes(operand, element, offset, 1);
      llvm::append_range(result.floats, lane.floats);
      llvm::append_range(result.integers, lane.integers);
    }
    return result;
  }

  static int64_t valueAt(AffineExpr expr, const std::vector<Lanes> &positions, int64_t lane) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return positions[dim.getPosition()].integers[lane];
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return constant.getValue();
    auto binary = cast<AffineBinaryOpExpr>(expr);
    int64_t lhs = valueAt(binary.getLHS(), positions, lane);
    int64_t rhs = valueAt(binary.getRHS(), positions, lane);
    switch (expr.getKind()) {
    case AffineExprKind::Add:
      return lhs + rhs;
    case AffineExprKind::Mul:
      return lhs * rhs;
    case AffineExprKind::FloorDiv:
      return llvm::divideFloorSigned(lhs, rhs);
    case AffineExprKind::CeilDiv:
      return llvm::divideCeilSigned(lhs, rhs);
    case AffineExprKind::Mod:
      return llvm::mod(lhs, rhs);
    default:
      throw InternalError("unknown kind of index");
    }
  }

  static Lanes splat(TypedAttr value, int64_t count) {
    Lanes lanes;
    if (auto number = dyn_cast<FloatAttr>(value))
      lanes.floats.assign(count, number.getValueAsDouble());
    else
      lanes.integers.assign(count, cast<IntegerAttr>(value).getValue().getSExtValue());
    return lanes;
  }

  ComputeOp op;
  Tensors operands;
  Sizes symbols;
  int64_t rank;
  SmallVector<int64_t> sizes;
  SmallVector<AffineMap> maps;
};

} // namespace

Tensor ComputeOp::evaluate(Tensors inputs, Sizes symbols) {
  return ComputeEvaluator(*this, inputs, symbols).run();
}

} // namespace headrace::hr
