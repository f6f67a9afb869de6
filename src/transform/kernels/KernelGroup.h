// A group of operators that becomes one kernel, and the iteration axes they share.
//
// Every structured operator says by its movement which elements each point of its domain touches.
// A group names the dimensions of all those domains by common axes: when a consumer reads a value
// along axes (r, c), the producer computes it along (r, c) too, and both can be in one loop
// nest.
//
// A group computes one result in one loop nest, or it *walks*: it goes through blocks of rows along
// one axis and computes all its operators on a few rows at a time, which stay in cache. A walking
// group may have several results, and operators that reduce all rows into one (they leave a
// partial result per block).
#pragma once

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "transform/choices/FusionDecision.h"
#include "transform/kernels/KernelRules.h"

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
  /// The axis, or the one a unit dimension stands next to (-1: none).
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
  /// Along which axis a group may walk, if that is given: a dimension of its root, or none.
  struct Walk {
    std::optional<unsigned> dim;
  };
  /// A group of one operator.
  KernelGroup(hr::OperatorInterface root, const KernelRules &rules,
              std::optional<Walk> given = std::nullopt);
  /// A group for planning by time: it may hold everything that can share its loops, and the cost
  /// model decides what pays.
  static KernelGroup candidate(hr::OperatorInterface root, const KernelRules &rules);
  /// Whether rules of thumb tell what pays, as they do if neither a recipe nor planning does.
  void goByThumb(bool does) { byThumb = does; }
  /// A group in which every operator has loops of its own, neither merged nor split, as the recipe
  /// of its schedule says.
  static KernelGroup scheduled(hr::OperatorInterface root, const KernelRules &rules);

  /// Adds a producer of which the group reads the result, unless its loops cannot be shared or
  /// sharing would not pay: nothing changes then. `escapes`: others read the result as well.
  FusionDecision tryJoin(hr::OperatorInterface op, bool escapes);
  /// Takes over the operators of a group that reads the same rows, unless they cannot walk
  /// together: nothing changes then.
  FusionDecision tryMerge(const KernelGroup &other);
  /// Adds a producer to a group whose operators have loops of their own.
  void join(hr::OperatorInterface op);
  /// Takes the padding of its result, which its kernel then writes; nothing changes if it
  /// cannot.
  FusionDecision tryBorder(hr::PadOp pad);

  hr::OperatorInterface root() const { return operators.front(); }
  /// The contraction, convolution, pooling or general reduction the group is built around; null if
  /// there is none.
  hr::OperatorInterface anchor() const { return anchorOp; }
  /// The operator that the kernel is called after: what it is built around.
  hr::OperatorInterface namesake() const { return anchorOp ? anchorOp : root(); }
  /// From the root backwards.
  llvm::ArrayRef<hr::OperatorInterface> getOperators() const { return operators; }
  /// The padding around its result; null if there is none.
  hr::PadOp border() const { return borderOp; }
  bool isStructured() const { return structured; }
  bool keepsAxes() const { return ownLoops; }
  llvm::ArrayRef<Axis> getAxes() const { return axes; }
  llvm::ArrayRef<AxisRef> domainOf(mlir::Operation *op) const { return domains.find(op)->second; }
  bool contains(mlir::Operation *op) const { return domains.contains(op) || root() == op; }

  /// The axis along which the group walks blocks of rows, if it does.
  std::optional<int> walkAxis() const { return walk; }
  /// The axis of `walkAxis` as a dimension of the root.
  std::optional<Walk> walkOfRoot() const;
  /// Whether there is an axis that it could walk along.
  bool canWalk() const;
  /// Whether the operator reduces all rows of a walking group.
  bool accumulates(mlir::Operation *op) const;
  /// In how many blocks the rows are cut if something is reduced over them; it does not depend
  /// on the number of threads, so results do not either.
  int64_t walkBlocks() const;

private:
  using Refs = llvm::SmallVector<AxisRef>;

  KernelGroup(hr::OperatorInterface root, const KernelRules &rules, std::optional<Walk> given,
              bool byThumb);

  Refs resolveRoot(const Movement &m);
  std::optional<Refs> resolveDomain(hr::OperatorInterface op, const Movement &m, bool walking);
  std::optional<Refs> resolveThroughOperands(hr::OperatorInterface op, const Movement &m);
  void placeByOperands(hr::OperatorInterface op, const Movement &m, Refs &domain) const;
  void add(hr::OperatorInterface op, const Movement &m, const Refs &domain);
  void assign(mlir::Value value, const Refs &refs);
  static Refs operandRefs(hr::OperatorInterface op, const Movement &m, mlir::Value operand,
                          mlir::AffineMap map, const Refs &domain);
  bool isPartOfJoin(hr::OperatorInterface op) const;
  FusionDecision joinLoops(hr::OperatorInterface op);
  FusionDecision pays(hr::OperatorInterface op, const Refs &domain) const;
  uint64_t copiesOf(mlir::Operation *op) const;
  /// Deciding on one more operator and compiling it take time in proportion to those that are
  /// there; beyond some hundreds a store and a load cost less than either.
  bool hasRoomFor(size_t more) const;

  void walkFromRoot();
  FusionDecision place(hr::OperatorInterface op);
  FusionDecision mergeElementwise(const KernelGroup &other);
  bool walksAlong(hr::OperatorInterface op, const Refs &domain, int axis) const;
  bool canWalkAlong(int axis) const;
  bool follows(int a, int b) const;
  llvm::SmallVector<int> rowAxes(int axis) const;
  bool rowsFit(int axis) const;

  llvm::SmallVector<hr::OperatorInterface> operators;
  llvm::SmallVector<Axis> axes;
  llvm::DenseMap<mlir::Value, Refs> values;
  llvm::DenseMap<mlir::Operation *, Refs> domains;
  hr::OperatorInterface anchorOp;
  hr::PadOp borderOp;
  std::optional<int> walk;
  const KernelRules *rules;
  bool ownLoops = false;
  bool byThumb = true;
  bool walkIsGiven = false;
  std::optional<int> givenWalk; // the only axis it may walk along; none if it may not
  bool structured = false;
};

/// Contractions, convolutions, windows and other general reductions: work that a schedule is built
/// around.
bool isAnchor(mlir::Operation *op);

/// Whether the kernels that read the slice take it themselves, as a view: nothing is copied.
bool isReadInPlace(hr::SliceOp slice);

/// Maps and computes without reductions.
bool isElementwise(mlir::Operation *op);

} // namespace headrace
