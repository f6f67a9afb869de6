// Reference evaluation of operators that compute any scalar function at each point of a domain.
#pragma once

#include "dialect/reference/ScalarBody.h"
#include "runtime/system/Interruption.h"

namespace headrace::reference {

/// Results computed at once.
inline constexpr int64_t kResultsAtOnce = 4096;

/// Walks the results in blocks; the reduced dimensions one point at a time, in order.
template <class Op> class PointEvaluator {
public:
  /// The result is a component of the tuple that a point has; most have one value.
  PointEvaluator(Op op, llvm::ArrayRef<mlir::Attribute> initial, size_t component, Tensors operands,
                 Sizes symbols)
      : op(op), initial(initial), component(component), operands(operands), symbols(symbols),
        rank(op.getDomain().getNumResults() - op.getReduced()) {
    for (mlir::AffineExpr size : op.getDomain().getResults())
      sizes.push_back(evaluateSize(size, symbols));
    for (mlir::AffineMap map : op.getMaps().template getAsValueRange<mlir::AffineMapAttr>())
      maps.push_back(map);
  }

  Tensor run() {
    Tensor result = allocateResult(op.getResult(), symbols);
    mlir::Type element = llvm::cast<mlir::RankedTensorType>(op.getType()).getElementType();
    for (int64_t begin = 0; begin < result.elements(); begin += kResultsAtOnce) {
      pollInterruption();
      storeLanes(block(begin, std::min(kResultsAtOnce, result.elements() - begin)), element, result,
                 begin);
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
    for (mlir::Attribute value : initial)
      sums.push_back(splat(value, count));
    if (llvm::is_contained(reduced, 0))
      return sums[component];
    llvm::SmallVector<int64_t> point(reduced.size(), 0);
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

  Lanes elementsAt(const Tensor &operand, mlir::Value value, mlir::AffineMap map,
                   const std::vector<Lanes> &positions, int64_t count) {
    mlir::Type element = llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
    return gatherLanes(operand, element,
                       placesAt(map, positions, count, operand.shape(), operatorName(op)));
  }

  static Lanes splat(mlir::Attribute value, int64_t count) {
    Lanes lanes;
    if (auto number = llvm::dyn_cast<mlir::FloatAttr>(value))
      lanes.floats.assign(count, number.getValueAsDouble());
    else
      lanes.integers.assign(count, llvm::cast<mlir::IntegerAttr>(value).getValue().getSExtValue());
    return lanes;
  }

  Op op;
  llvm::ArrayRef<mlir::Attribute> initial;
  size_t component;
  Tensors operands;
  Sizes symbols;
  int64_t rank;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<mlir::AffineMap> maps;
};

} // namespace headrace::reference
