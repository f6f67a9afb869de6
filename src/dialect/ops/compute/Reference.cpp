// Reference evaluation of the general structured operators.
#include "dialect/ops/folds/Folds.h"
#include "dialect/scalar/ScalarBody.h"
#include "runtime/system/Interruption.h"

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

/// Results computed at once.
static constexpr int64_t kBlock = 4096;

namespace {

/// Walks the results in blocks; the reduced dimensions one point at a time, in order.
template <class Op> class PointEvaluator {
public:
  /// The result is a component of the tuple that a point has; most have one value.
  PointEvaluator(Op op, ArrayRef<Attribute> initial, size_t component, Tensors operands,
                 Sizes symbols)
      : op(op), initial(initial), component(component), operands(operands), symbols(symbols),
        rank(op.getDomain().getNumResults() - op.getReduced()) {
    for (AffineExpr size : op.getDomain().getResults())
      sizes.push_back(evaluateSize(size, symbols));
    for (AffineMap map : op.getMaps().template getAsValueRange<AffineMapAttr>())
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
      return valuesAt(std::move(positions), count)[component];
    Sizes reduced = Sizes(sizes).drop_front(rank);
    std::vector<Lanes> sums;
    for (Attribute value : initial)
      sums.push_back(splat(value, count));
    if (llvm::is_contained(reduced, 0))
      return sums[component];
    SmallVector<int64_t> point(reduced.size(), 0);
    do {
      pollInterruption();
      for (size_t d = 0; d < reduced.size(); ++d)
        positions[rank + d].integers.assign(count, point[d]);
      llvm::append_range(sums, valuesAt(positions, count));
      sums = evaluateYields(op.getCombine().front(), std::move(sums), count, symbols, {});
    } while (advance(point, reduced));
    return sums[component];
  }

  std::vector<Lanes> valuesAt(std::vector<Lanes> positions, int64_t count) {
    std::vector<Lanes> arguments;
    for (auto [i, map] : llvm::enumerate(maps))
      arguments.push_back(elementsAt(operands[i], op.getInputs()[i], map, positions, count));
    BodySurroundings surroundings{std::move(positions), operands.drop_front(maps.size())};
    return evaluateYields(op.getBody().front(), std::move(arguments), count, symbols, surroundings);
  }

  Lanes elementsAt(const Tensor &operand, Value value, AffineMap map,
                   const std::vector<Lanes> &positions, int64_t count) {
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    return gatherLanes(operand, element,
                       placesAt(map, positions, count, operand.shape(), operatorName(op)));
  }

  static Lanes splat(Attribute value, int64_t count) {
    Lanes lanes;
    if (auto number = dyn_cast<FloatAttr>(value))
      lanes.floats.assign(count, number.getValueAsDouble());
    else
      lanes.integers.assign(count, cast<IntegerAttr>(value).getValue().getSExtValue());
    return lanes;
  }

  Op op;
  ArrayRef<Attribute> initial;
  size_t component;
  Tensors operands;
  Sizes symbols;
  int64_t rank;
  SmallVector<int64_t> sizes;
  SmallVector<AffineMap> maps;
};

} // namespace

Tensor ComputeOp::evaluate(Tensors inputs, Sizes symbols) {
  Attribute initial = getInitialAttr();
  return PointEvaluator(*this, initial, 0, inputs, symbols).run();
}

Tensor FoldOp::evaluate(Tensors inputs, Sizes symbols) {
  return PointEvaluator(*this, getInitial().getValue(), getComponent(), inputs, symbols).run();
}

} // namespace headrace::hr
