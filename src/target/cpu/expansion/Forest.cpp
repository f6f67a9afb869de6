// Forests of decision trees by our own routine. Before:
//   %y = hr.forest %rows, %roots, %depths, %nodes, %leaves, %weights {feature_bits = 5, ...}
// After:
//   %y = hr.library "forest.f32" (%rows, ...) {parameters = (s0, 20, 100, 730222, ..., 5, 0, 0)}
// Walks have different lengths and ends that generated code for vectors has no form for.
#include "runtime/library/Forest.h"

#include "analysis/OperatorWork.h"
#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"
#include "dialect/ops/trees/Trees.h"
#include "target/cpu/expansion/Expansions.h"

using namespace mlir;

namespace headrace {
namespace {

class RoutineForest final : public Expansion {
public:
  StringRef name() const override { return "routine"; }

  bool applies(Operation *operation, const Machine &) const override {
    return isa<hr::ForestOp>(operation);
  }

  Work work(Operation *operation, const Machine &) const override {
    auto op = cast<hr::ForestOp>(operation);
    SizeHints sizes = sizeHints(op);
    auto size = [&](AffineExpr expr) { return static_cast<double>(sizeHint(expr, sizes)); };
    Work work = ofWalks({size(shapeOf(op.getRows())[0]), size(shapeOf(op.getRoots())[0]),
                         size(shapeOf(op.getNodes())[0]), size(shapeOf(op.getWeights())[1])},
                        rateType(op.getRows().getType()));
    llvm::append_range(work.streams, workOf(op, sizes).streams);
    return work;
  }

  std::optional<Work> workOfCall(const LibraryCall &call, const Machine &) const override {
    if (!call.routine.starts_with("forest."))
      return std::nullopt;
    return ofWalks({call.parameter(0), call.parameter(2), call.parameter(3), call.parameter(5)},
                   call.type);
  }

  void rewrite(Operation *operation, const Machine &, RewriterBase &rewriter) const override {
    auto op = cast<hr::ForestOp>(operation);
    MLIRContext *context = op.getContext();
    RankedTensorType type = hr::typeOf(op.getResult());
    SymbolicShape rows = shapeOf(op.getRows()), weights = shapeOf(op.getWeights());
    auto number = [&](int64_t value) { return constantDim(value, context); };
    SmallVector<AffineExpr> parameters{rows[0],
                                       rows[1],
                                       shapeOf(op.getRoots())[0],
                                       shapeOf(op.getNodes())[0],
                                       weights[0],
                                       weights[1],
                                       number(op.getFeatureBits()),
                                       number(op.getTreatsNan()),
                                       number(combineOf(op.getKind()))};
    AffineExpr read = number(0);
    for (Value operand : op.getOperands())
      read = read + byteCount(hr::typeOf(operand));
    AffineMap cost =
        symbolMap({read, byteCount(type), op.getMovement().operations(context)}, context);
    std::string name = operatorName(op);
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<hr::LibraryOp>(
        op, type, op.getOperands(),
        rewriter.getStringAttr(type.getElementType().isF64() ? "forest.f64" : "forest.f32"),
        AffineMapAttr::get(symbolMap(parameters, context)), rewriter.getStringAttr(name),
        rewriter.getStrArrayAttr({name}), AffineMapAttr::get(cost));
  }

private:
  struct Walks {
    double rows, trees, places, targets;
  };

  /// Every row goes down every tree, about as many steps as a balanced tree of this many places
  /// has; several walks at a time hide what each waits for. Nodes are read again for other rows.
  static Work ofWalks(const Walks &walks, DType type) {
    constexpr double operationsOfStep = 2;
    Work work;
    double steps = std::log2(std::max(walks.places / std::max(walks.trees, 1.0), 2.0));
    double visits = walks.rows * walks.trees * steps;
    work.arithmetic.push_back(
        {OperationKind::Scalar, type,
         operationsOfStep * visits + walks.rows * walks.trees * walks.targets});
    work.parts = std::max(1.0, walks.rows);
    double node = 2 * static_cast<double>(sizeOf(type));
    work.move(visits * node, walks.places * node);
    return work;
  }

  static int64_t combineOf(hr::ReduceKind kind) {
    if (kind == hr::ReduceKind::Sum)
      return ForestSizes::Sum;
    return kind == hr::ReduceKind::Min ? ForestSizes::Min : ForestSizes::Max;
  }
};

} // namespace

const Expansion &routineForest() {
  static const RoutineForest expansion;
  return expansion;
}

} // namespace headrace
