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
    auto outer = llvm::to_vector(llvm::seq<unsigned>(0, static_cast<unsigned>(rank)));
    setPositions(positions, outer, Sizes(sizes).take_front(rank), begin, count);
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
    return gatherLanes(operand, element,
                       placesAt(map, positions, count, operand.shape(), operatorName(op)));
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
