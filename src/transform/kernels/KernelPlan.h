// How a group of operators lies on the axes of its kernel: which of them are one, in which order
// they are walked, and how every operand and result is seen along them.
#pragma once

#include "analysis/Machine.h"
#include "transform/kernels/KernelForm.h"
#include "transform/kernels/KernelGroup.h"

namespace headrace {

/// One dimension of a value as the kernel sees it: an expression over the group's axes, and its
/// size in memory if that is not the size of an axis (a window or a step, which need not cover
/// it).
struct ViewDim {
  mlir::AffineExpr expr;
  mlir::AffineExpr memorySize;

  /// The axis along which all of the dimension is walked.
  std::optional<int> axis() const {
    if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr); dim && !memorySize)
      return dim.getPosition();
    return std::nullopt;
  }
  /// A window whose only position is the first: the beginning of the dimension is walked.
  bool isBeginning() const { return llvm::isa<mlir::AffineDimExpr>(expr) && memorySize; }
  bool operator==(const ViewDim &other) const { return expr == other.expr; }
};
using View = llvm::SmallVector<ViewDim>;

class KernelPlan {
public:
  struct Access {
    mlir::Value value;
    View view;
    bool isTable = false; // read by index in the body, not by the loops
    /// The slice that the kernel takes itself, and which of its dimensions the view has.
    hr::SliceOp slice;
    llvm::SmallVector<unsigned> sliceDims;
    /// The dimension of what is sliced that is seen as two, tiles of features.
    std::optional<unsigned> splitDim;
    bool operator==(const Access &) const = default;
  };
  struct OpPlan {
    hr::OperatorInterface op;
    llvm::SmallVector<int> axes;                            // of its domain
    llvm::SmallVector<mlir::utils::IteratorType> iterators; // next to each axis
    llvm::SmallVector<std::string> names;                   // what recipes call each, if they do
    llvm::SmallVector<std::string> units;                   // names of dimensions of one point
    llvm::SmallVector<Access> accesses;                     // operands, then the result
    llvm::SmallVector<int> indexed;                         // axes whose position the body reads
    bool stored = false;                                    // others read the result
    bool accumulates = false;                               // over all rows of a walking group

    bool reads(int axis) const { return llvm::is_contained(indexed, axis); }
  };

  KernelPlan(const KernelGroup &group, const Machine &machine, KernelForm &form);

protected:
  llvm::SmallVector<mlir::AffineExpr> sizesOf(const Access &access) const;
  /// How much padding there is around the kernel's result along an axis, in front and behind.
  std::pair<int64_t, int64_t> borderAlong(int axis) const;
  ViewDim axisDim(int axis) const {
    return {mlir::getAffineDimExpr(axis, context), mlir::AffineExpr()};
  }
  bool startsWithRows(const Access &access) const {
    return group.walkAxis() && !access.view.empty() &&
           access.view.front().axis() == group.walkAxis();
  }

  const KernelGroup &group;
  const Machine &machine;
  KernelForm &form;
  mlir::MLIRContext *context;
  llvm::SmallVector<mlir::AffineExpr> sizes; // of each axis
  std::vector<OpPlan> plans;                 // in program order
  /// How the dimensions of constant weights are permuted when they are packed; empty: they are not.
  llvm::SmallVector<int64_t> packPermutation;

private:
  void planOperators();
  bool isReadOutside(mlir::Value value) const;
  Access accessOf(mlir::Value value, mlir::AffineMap map, llvm::ArrayRef<AxisRef> domain);
  void mergeAxes();
  bool mergeable(int a, int b) const;
  void splitFeatures();
  int64_t chooseFeatureTile(const Access &rhs, const Access &result, int64_t features);
  bool canSplit(int feature) const;
  void split(Access &access, int outer, int inner) const;
  void orderAxes();
  mlir::AffineExpr axisExpr(int axis) const { return mlir::getAffineDimExpr(axis, context); }
};

} // namespace headrace
