// Sorting by our own routine. Before:
//   %i = hr.sort %x {axis = 1, descending = true} : (tensor<4x1000xf32>) -> tensor<4x5xi64>
// After:
//   %i = hr.library "sort.f32" (%x) {parameters = (4, 1000, 1, 5, 1)}
#include "analysis/OperatorWork.h"
#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"
#include "target/cpu/expansion/Expansions.h"

using namespace mlir;

namespace headrace {
namespace {

class RoutineSort final : public Expansion {
public:
  StringRef name() const override { return "routine"; }

  bool applies(Operation *operation, const Machine &) const override {
    auto op = dyn_cast<hr::SortOp>(operation);
    return op && !routineOf(op).empty();
  }

  Work work(Operation *operation, const Machine &) const override {
    auto op = cast<hr::SortOp>(operation);
    SizeHints sizes = sizeHints(op);
    SymbolicShape shape = shapeOf(op.getInput());
    double count = 1, size = static_cast<double>(sizeHint(shape[op.getAxis()], sizes));
    for (AffineExpr extent : shape)
      count *= static_cast<double>(sizeHint(extent, sizes));
    Work work = ofLines(count / std::max(size, 1.0), size, rateType(op.getInput().getType()));
    work.streams = workOf(op, sizes).streams;
    return work;
  }

  std::optional<Work> workOfCall(const LibraryCall &call, const Machine &) const override {
    if (!call.routine.starts_with("sort."))
      return std::nullopt;
    return ofLines(call.parameter(0) * call.parameter(2), call.parameter(1), call.type);
  }

  void rewrite(Operation *operation, const Machine &, RewriterBase &rewriter) const override {
    auto op = cast<hr::SortOp>(operation);
    MLIRContext *context = op.getContext();
    SymbolicShape shape = shapeOf(op.getInput());
    RankedTensorType type = hr::typeOf(op.getResult());
    auto axis = static_cast<size_t>(op.getAxis());
    SmallVector<AffineExpr> parameters{
        elementCount(ArrayRef(shape).take_front(axis), context), shape[axis],
        elementCount(ArrayRef(shape).drop_front(axis + 1), context), shapeOf(type)[axis],
        constantDim(op.getDescending(), context)};
    AffineMap cost = symbolMap({byteCount(hr::typeOf(op.getInput())), byteCount(type),
                                op.getMovement().operations(context)},
                               context);
    std::string name = operatorName(op);
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<hr::LibraryOp>(
        op, type, op.getInput(), rewriter.getStringAttr(routineOf(op)),
        AffineMapAttr::get(symbolMap(parameters, context)), rewriter.getStringAttr(name),
        rewriter.getStrArrayAttr({name}), AffineMapAttr::get(cost));
  }

private:
  /// Merging compares each element with another once per level, and moves its position: steps that
  /// no vector takes, of which every second guess of the branch is wrong.
  static Work ofLines(double lines, double size, DType type) {
    constexpr double stepsOfComparison = 3.5;
    Work work;
    work.parts = std::max(lines, 1.0);
    double levels = std::log2(std::max(size, 2.0));
    work.arithmetic.push_back(
        {OperationKind::Scalar, type, stepsOfComparison * lines * size * levels});
    work.move(2 * lines * size * levels * sizeof(int64_t), size * 2 * sizeof(int64_t));
    return work;
  }

  /// Other types became one of these (SortOp::expand).
  static StringRef routineOf(hr::SortOp op) {
    Type type = hr::typeOf(op.getInput()).getElementType();
    if (type.isF32())
      return "sort.f32";
    if (type.isF64())
      return "sort.f64";
    if (type.isSignlessInteger(32))
      return "sort.i32";
    return type.isSignlessInteger(64) ? "sort.i64" : "";
  }
};

} // namespace

const Expansion &routineSort() {
  static const RoutineSort expansion;
  return expansion;
}

} // namespace headrace
