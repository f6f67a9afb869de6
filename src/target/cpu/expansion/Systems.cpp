// Linear systems by LAPACK, factorized in one of two ways. Before:
//   %x = hr.solve %a, %b {complex, positive_definite} : (tensor<99x4x4x2xf64>, ...)
// After:
//   %x = hr.library "openblas.cholesky.f64" (%a, %b) {parameters = (99, 4, 12, 1)}
// Cholesky does half the work of LU, but needs matrices that are positive definite. There is no
// other way to compute them: a machine without OpenBLAS is told when the program runs.
#include "dialect/ops/systems/Systems.h"

#include "analysis/OperatorWork.h"
#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"
#include "target/cpu/expansion/Expansions.h"

using namespace mlir;

namespace headrace {
namespace {

class FactorizedSystems final : public Expansion {
public:
  explicit FactorizedSystems(bool cholesky) : cholesky(cholesky) {}

  StringRef name() const override { return cholesky ? "cholesky" : "lu"; }

  bool applies(Operation *operation, const Machine &) const override {
    auto op = dyn_cast<hr::SolveOp>(operation);
    return op && (!cholesky || op.getPositiveDefinite());
  }

  Work work(Operation *operation, const Machine &) const override {
    auto op = cast<hr::SolveOp>(operation);
    SizeHints sizes = sizeHints(op);
    auto [batch, unknowns, columns] = op.getSizes();
    auto size = [&](AffineExpr expr) { return static_cast<double>(sizeHint(expr, sizes)); };
    Work work = ofSystems(size(batch), size(unknowns), size(columns), op.getComplex(), cholesky,
                          rateType(op.getMatrix().getType()));
    work.streams = workOf(op, sizes).streams;
    return work;
  }

  std::optional<Work> workOfCall(const LibraryCall &call, const Machine &) const override {
    if (!call.routine.starts_with("openblas." + name().str() + "."))
      return std::nullopt;
    return ofSystems(call.parameter(0), call.parameter(1), call.parameter(2),
                     call.parameter(3) != 0, cholesky, call.type);
  }

  void rewrite(Operation *operation, const Machine &, RewriterBase &rewriter) const override {
    auto op = cast<hr::SolveOp>(operation);
    MLIRContext *context = op.getContext();
    RankedTensorType type = hr::typeOf(op.getResult());
    auto [batch, unknowns, columns] = op.getSizes();
    SmallVector<AffineExpr> parameters{batch, unknowns, columns,
                                       constantDim(op.getComplex(), context)};
    AffineMap cost =
        symbolMap({byteCount(hr::typeOf(op.getMatrix())) + byteCount(hr::typeOf(op.getRight())),
                   byteCount(type), op.getMovement().operations(context)},
                  context);
    std::string name = operatorName(op);
    std::string routine =
        "openblas." + this->name().str() + (type.getElementType().isF64() ? ".f64" : ".f32");
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<hr::LibraryOp>(
        op, type, op.getOperands(), rewriter.getStringAttr(routine),
        AffineMapAttr::get(symbolMap(parameters, context)), rewriter.getStringAttr(name),
        rewriter.getStrArrayAttr({name}), AffineMapAttr::get(cost));
  }

private:
  /// A factorization and two triangular systems per right-hand side, by LAPACK's blocks: products
  /// whose sides are about a fourth of the matrix.
  static Work ofSystems(double batch, double unknowns, double columns, bool isComplex,
                        bool isCholesky, DType type) {
    double each = unknowns * unknowns * (unknowns * (isCholesky ? 1.0 : 2.0) / 3 + 2 * columns);
    Work work;
    work.kernelCalls = 0;
    work.libraryCalls = static_cast<int>(std::clamp(batch, 1.0, 1e6));
    work.librarySide = std::max(unknowns / 4, 1.0);
    work.parts = std::max(batch, 1.0);
    work.arithmetic.push_back({OperationKind::Product, type, batch * each * (isComplex ? 4 : 1)});
    return work;
  }

  bool cholesky;
};

} // namespace

const Expansion &choleskySystems() {
  static const FactorizedSystems expansion(/*cholesky=*/true);
  return expansion;
}

const Expansion &luSystems() {
  static const FactorizedSystems expansion(/*cholesky=*/false);
  return expansion;
}

} // namespace headrace
