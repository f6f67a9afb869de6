// A group of operators that becomes one kernel, and the iteration axes they share.
//
// Every structured operator says by its movement which elements each point of its domain touches.
// A group names the dimensions of all those domains by common axes: when a consumer reads a value
// along axes (r, c), the producer computes it along (r, c) too, and both can stand in one loop
// nest.
#pragma once

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

namespace headrace {

/// How a dimension of a value or of an operator's domain lies on the group's axes.
class AxisRef {
public:
  AxisRef() = default;
  static AxisRef axis(int id) { return AxisRef(id, false); }
  /// A dimension of size 1 that stands where `axis` does in the values it is combined with.
  static AxisRef unit(AxisRef beside) { return AxisRef(beside.id, true); }
  static AxisRef unit() { return AxisRef(-1, true); }

  bool isAxis() const { return id >= 0 && !isUnitDim; }
  bool isUnit() const { return isUnitDim; }
  bool isUnknown() const { return id < 0 && !isUnitDim; }
  /// The axis, or the one a unit dimension stands beside (-1: none).
  int getId() const { return id; }
  AxisRef withoutUnit() const { return id < 0 ? AxisRef() : axis(id); }
  bool operator==(const AxisRef &) const = default;

private:
  AxisRef(int id, bool isUnit) : id(id), isUnitDim(isUnit) {}
  int id = -1;
  bool isUnitDim = false;
};

struct Axis {
  mlir::AffineExpr size;
  /// Combined away by the group's root or anchor rather than kept in its result.
  bool reduction = false;
};

class KernelGroup {
public:
  /// A group of one operator. One that keeps its axes takes what a recipe tells it to: every
  /// operator walks axes of its own, which are neither merged nor split.
  explicit KernelGroup(hr::OperatorInterface root, bool keepsAxes = false);

  /// Adds a producer all of whose users are in the group; false (and no change) where its loops
  /// cannot be shared or sharing would not pay.
  bool tryJoin(hr::OperatorInterface op);
  /// Adds a producer to a group that keeps its axes.
  void join(hr::OperatorInterface op);

  hr::OperatorInterface root() const { return operators.front(); }
  /// The contraction, convolution, pooling or general reduction the group is built around; null if
  /// there is none.
  hr::OperatorInterface anchor() const { return anchorOp; }
  /// From the root backwards.
  llvm::ArrayRef<hr::OperatorInterface> getOperators() const { return operators; }
  bool isStructured() const { return structured; }
  bool keepsAxes() const { return hasOwnAxes; }
  llvm::ArrayRef<Axis> getAxes() const { return axes; }
  llvm::ArrayRef<AxisRef> domainOf(mlir::Operation *op) const { return domains.find(op)->second; }

private:
  using Refs = llvm::SmallVector<AxisRef>;

  std::optional<Refs> resolveDomain(hr::OperatorInterface op, const Movement &m, bool isRoot);
  void assignOperands(hr::OperatorInterface op, const Movement &m, const Refs &domain);
  bool pays(hr::OperatorInterface op, const Refs &domain) const;

  llvm::SmallVector<hr::OperatorInterface> operators;
  llvm::SmallVector<Axis> axes;
  llvm::DenseMap<mlir::Value, Refs> values;
  llvm::DenseMap<mlir::Operation *, Refs> domains;
  hr::OperatorInterface anchorOp;
  bool structured = false;
  bool hasOwnAxes = false;
};

/// Whether the operator's domain has no point: its result is empty, or what a reduction starts
/// from.
bool doesNothing(hr::OperatorInterface op);

/// Contractions, convolutions, windows and other general reductions: work that a schedule is built
/// around.
bool isAnchor(mlir::Operation *op);

/// Whether the kernels that read the slice take it themselves, as a view: nothing is copied.
bool isReadInPlace(hr::SliceOp slice);

/// Maps and computes that combine nothing.
bool isElementwise(mlir::Operation *op);

} // namespace headrace
