#include "target/cpu/loops/PlainLoops.h"

#include "analysis/cost/SizeHints.h"
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "transform/kernels/KernelShapes.h"
#include "transform/recipe/KernelModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace headrace {
namespace {

/// What one point computes along the innermost loop.
struct PointOperations {
  double simple = 0, division = 0, functions = 0;
  double picked = 0; // elements that are read by an index, or far from the last one
  bool copiesRows = false;
};

class PointCounter {
public:
  explicit PointCounter(linalg::GenericOp op) : op(op), last(op.getNumLoops() - 1) {}

  PointOperations run() {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    for (auto [i, map] : llvm::enumerate(maps)) {
      BlockArgument argument = op.getBody()->getArgument(i);
      bool isSum = static_cast<int64_t>(i) >= op.getNumDpsInputs();
      if (!isSum && !map.isFunctionOfDim(last))
        continue;
      varying.insert(argument);
      count.picked += !isSum && isAcross(map, last);
    }
    for (Operation &inner : op.getBody()->without_terminator())
      visit(&inner);
    auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
    auto picked = yield.getOperand(0).getDefiningOp<tensor::ExtractOp>();
    count.copiesRows = picked && isAlongRow(picked);
    return count;
  }

  /// Whether neighbours along the dimension lie apart.
  static bool isAcross(AffineMap map, unsigned dim) {
    return map.isFunctionOfDim(dim) &&
           (map.getNumResults() == 0 || !map.getResults().back().isFunctionOfDim(dim));
  }

private:
  /// Whether neighbours along the innermost loop are neighbours in the tensor.
  bool isAlongRow(tensor::ExtractOp extract) const {
    ValueRange indices = extract.getIndices();
    if (indices.empty())
      return false;
    auto index = indices.back().getDefiningOp<linalg::IndexOp>();
    return index && index.getDim() == last &&
           llvm::none_of(indices.drop_back(), [&](Value i) { return varying.contains(i); });
  }

  /// The loops of a fold are in its body: its operations count as often as they run.
  void visitLoop(scf::ForOp loop) {
    auto first = getConstantIntValue(loop.getLowerBound());
    auto end = getConstantIntValue(loop.getUpperBound());
    double trips = static_cast<double>(first && end ? std::max<int64_t>(*end - *first, 0)
                                                    : SizeHints::kDefault);
    varying.insert(loop.getInductionVar());
    varying.insert(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    varying.insert(loop->result_begin(), loop->result_end());
    double outside = std::exchange(weight, weight * trips);
    for (Operation &each : loop.getBody()->without_terminator())
      visit(&each);
    weight = outside;
  }

  void visit(Operation *inner) {
    if (auto loop = dyn_cast<scf::ForOp>(inner))
      return visitLoop(loop);
    auto index = dyn_cast<linalg::IndexOp>(inner);
    bool varies = index ? index.getDim() == last
                        : llvm::any_of(inner->getOperands(),
                                       [&](Value value) { return varying.contains(value); });
    if (!varies)
      return;
    varying.insert(inner->result_begin(), inner->result_end());
    if (index || isa<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp>(inner))
      return;
    if (isa<tensor::ExtractOp>(inner))
      count.picked += weight;
    else if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemFOp, arith::RemSIOp,
                 arith::RemUIOp, math::SqrtOp, math::RsqrtOp>(inner))
      count.division += weight;
    else if (inner->getDialect()->getNamespace() == "math" &&
             !isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::RoundEvenOp,
                  math::TruncOp, math::CopySignOp, math::FmaOp>(inner))
      count.functions += weight;
    else if (!isFusedProduct(inner))
      count.simple += weight;
  }

  /// A product whose only use is a sum is one instruction with that sum.
  static bool isFusedProduct(Operation *inner) {
    return isa<arith::MulFOp>(inner) && inner->hasOneUse() &&
           isa<arith::AddFOp, arith::SubFOp>(*inner->user_begin());
  }

  linalg::GenericOp op;
  unsigned last;
  double weight = 1; // how often what is visited runs at a point
  llvm::SmallDenseSet<Value> varying;
  PointOperations count;
};

/// Elements that are contiguous in `type` of a part of it with these extents.
double runLength(RankedTensorType type, ArrayRef<double> part) {
  double run = 1;
  for (size_t i = part.size(); i-- > 0;) {
    run *= part[i];
    if (type.isDynamicDim(i) || part[i] != static_cast<double>(type.getDimSize(i)))
      break;
  }
  return std::max(run, 1.0);
}

double productOf(ArrayRef<double> extents) {
  double product = 1;
  for (double extent : extents)
    product *= extent;
  return product;
}

} // namespace

double tripsAround(Operation *op, ExtentOf extentOf) {
  double trips = 1;
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>()) {
    AffineExpr count = sizeExpr(OpFoldResult(loop.getUpperBound()), op->getContext());
    trips *= count ? extentOf(count) : static_cast<double>(SizeHints::kDefault);
  }
  return trips;
}

bool picksElements(linalg::GenericOp op) {
  return op.getRegion()
      .walk([](tensor::ExtractOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

bool readsAcross(linalg::GenericOp op) {
  return op.getNumLoops() > 0 && llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
           return PointCounter::isAcross(op.getMatchingIndexingMap(operand), op.getNumLoops() - 1);
         });
}

void addPlainLoops(Work &work, linalg::GenericOp op, double points, DType type) {
  auto add = [&](OperationKind kind, double each) {
    if (each * points > 0)
      work.arithmetic.push_back({kind, type, each * points});
  };
  // A library's function, for one element; a division that waits for the one before.
  constexpr double callOfFunction = 12, ofDivision = 4, ofSum = 4;
  if (op.getNumLoops() == 0)
    return add(OperationKind::Scalar, 1);
  PointOperations each = PointCounter(op).run();
  double innermost = static_cast<double>(
      std::max<int64_t>(op.getStaticLoopRanges().back(), 1)); // open ones: no run is known
  constexpr double ofRun = 8;
  if (each.copiesRows)
    return add(OperationKind::Scalar, ofRun / innermost);
  bool sums = op.getIteratorTypesArray().back() == utils::IteratorType::reduction;
  add(OperationKind::Scalar, each.functions * callOfFunction);
  // The steps of a recurrence have their sums outside of the innermost loop.
  if (sums && !op->getParentOfType<scf::ForOp>())
    return add(OperationKind::Scalar,
               each.picked + each.simple + ofDivision * each.division + ofSum);
  if (picksElements(op)) {
    // LLVM puts addresses into vectors, and picks the elements one by one.
    constexpr double inVectors = 0.1;
    return add(OperationKind::Scalar,
               each.picked + inVectors * (each.simple + ofDivision * each.division));
  }
  // LLVM puts these into vectors; elements that lie apart are read one by one.
  add(OperationKind::Scalar, each.picked);
  add(OperationKind::Simple, each.simple);
  add(OperationKind::Division, each.division);
}

void addCopies(Work &work, func::FuncOp kernel, ExtentOf extentOf) {
  constexpr double operationsOfRun = 8, operationsOfElement = 1.5;
  auto add = [&](Operation *op, RankedTensorType whole, ArrayRef<double> part) {
    double runs = productOf(part) / runLength(whole, part);
    bool isElement = productOf(part) <= 1;
    work.arithmetic.push_back(
        {OperationKind::Scalar, DType::F32,
         (isElement ? operationsOfElement : operationsOfRun) * runs * tripsAround(op, extentOf)});
  };
  auto extents = [&](ArrayRef<OpFoldResult> sizes) {
    SmallVector<double> part;
    for (OpFoldResult size : sizes) {
      AffineExpr expr = sizeExpr(size, kernel.getContext());
      part.push_back(expr ? extentOf(expr) : static_cast<double>(SizeHints::kDefault));
    }
    return part;
  };
  kernel.walk([&](Operation *op) {
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      add(op, insert.getDestType(), extents(insert.getMixedSizes()));
    else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
             slice && slice->getParentOfType<scf::ForOp>())
      add(op, slice.getSourceType(), extents(slice.getMixedSizes()));
    // Loops write the inside of a border where it is.
    else if (auto pad = dyn_cast<tensor::PadOp>(op); pad && !isBorder(pad)) {
      SmallVector<double> part;
      for (int64_t size : pad.getSourceType().getShape())
        part.push_back(ShapedType::isDynamic(size) ? 1 : static_cast<double>(size));
      add(op, pad.getResultType(), part);
    }
  });
}

} // namespace headrace
