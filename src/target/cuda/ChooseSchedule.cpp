#include "target/cuda/ChooseSchedule.h"

#include "target/cuda/Reads.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace::cuda {
namespace {

constexpr int64_t kPointThreads = 256, kRowThreads = 128, kMostThreads = 1024;
constexpr int64_t kMostHeld = 32; // elements of a row in a thread's registers

int64_t elementBytes(Value tensor) {
  return std::max(
      1u, cast<RankedTensorType>(tensor.getType()).getElementTypeBitWidth() / 8);
}

std::optional<int64_t> constantSize(AffineExpr expr) {
  return expr ? constantValue(expr) : std::nullopt;
}

bool isReduction(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && generic.getNumReductionLoops() > 0;
}

/// How many neighbours along `dim` a thread may take at once: what it reads there lies together.
int64_t vectorWidth(const Reads &reads, unsigned dim, AffineExpr size, int64_t bytes) {
  int64_t width = std::max<int64_t>(1, 16 / bytes);
  for (const Read &read : reads.memory) {
    std::optional<int64_t> stride = strideAlong(read, dim);
    if (!stride || (*stride != 0 && *stride != 1))
      return 1;
  }
  std::optional<int64_t> count = constantSize(size);
  while (width > 1 && (!count || *count % width != 0))
    width /= 2;
  return width;
}

/// The threads of a row where `columns` elements are shared among them.
Schedule rowSchedule(std::optional<int64_t> columns, int64_t vector) {
  Schedule schedule;
  schedule.kind = Schedule::Kind::Rows;
  schedule.vector = vector;
  if (!columns) {
    schedule.threads = schedule.lanes = kRowThreads;
    return schedule;
  }
  int64_t vectors = llvm::divideCeil(*columns, vector), mostHeld = kMostHeld / vector;
  int64_t lanes = llvm::PowerOf2Ceil(llvm::divideCeil(vectors, mostHeld));
  // A warp where that is enough, and a part of one for short rows.
  schedule.lanes =
      lanes > kWarp ? lanes : std::min<int64_t>(kWarp, llvm::PowerOf2Ceil(vectors));
  if (schedule.lanes > kMostThreads)
    schedule.lanes = kMostThreads;
  else
    schedule.held = llvm::divideCeil(vectors, schedule.lanes);
  schedule.threads = std::max(schedule.lanes, kRowThreads);
  return schedule;
}

class Chooser {
public:
  explicit Chooser(func::FuncOp kernel) : kernel(kernel) {}

  void run() {
    SmallVector<Operation *> results;
    kernel.walk([&](bufferization::MaterializeInDestinationOp store) {
      if (Operation *op = store.getSource().getDefiningOp())
        results.push_back(op);
    });
    for (Operation *op : results)
      choose(op);
  }

private:
  void choose(Operation *op) {
    if (op->hasAttr(kScheduleAttr) || isa<tensor::EmptyOp>(op))
      return;
    if (std::optional<Schedule> schedule = asRows(op))
      return set(op, *schedule);
    // What is combined on the way is launched before.
    for (const Read &read : readsOf(op, /*throughReductions=*/true).reductions)
      if (read.value.getDefiningOp() != op)
        choose(read.value.getDefiningOp());
    launchCostlyOperands(op);
    set(op, asPoints(op));
  }

  void set(Operation *op, const Schedule &schedule) {
    op->setAttr(kScheduleAttr, schedule.attribute(op->getContext()));
  }

  /// What a reduction reads again and again is computed once where it takes time to compute.
  void launchCostlyOperands(Operation *op) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || generic.getNumReductionLoops() == 0)
      return;
    for (OpOperand *operand : generic.getDpsInputOperands()) {
      auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
      AffineMap map = generic.getMatchingIndexingMap(operand);
      if (!producer || producer->hasAttr(kScheduleAttr) ||
          map.getNumResults() == generic.getNumLoops())
        continue;
      bool isCostly = llvm::any_of(producer.getBody()->without_terminator(), [](Operation &inner) {
        return isa<math::MathDialect>(inner.getDialect()) || isa<arith::DivFOp>(inner);
      });
      if (isCostly)
        choose(producer);
    }
  }

  static Schedule asPoints(Operation *op) {
    Schedule schedule;
    schedule.threads = kPointThreads;
    Reads reads = readsOf(op);
    auto shape = kernelShape(op->getResult(0));
    if (!reads.complete || !reads.reductions.empty() || !shape || shape->empty())
      return schedule;
    schedule.vector =
        vectorWidth(reads, shape->size() - 1, shape->back(), elementBytes(op->getResult(0)));
    return schedule;
  }

  /// Rows, where everything that is combined on the way is combined along the last dimension and
  /// needed per row: softmax, normalizations, sums of rows.
  static std::optional<Schedule> asRows(Operation *op) {
    Reads reads = readsOf(op);
    auto shape = kernelShape(op->getResult(0));
    if (!reads.complete || reads.reductions.empty() || !shape)
      return std::nullopt;
    bool isReduced = isReduction(op);
    if (!isReduced && shape->empty())
      return std::nullopt;
    unsigned rank = shape->size(), rowDims = isReduced ? rank : rank - 1;
    AffineExpr columns = isReduced ? AffineExpr() : shape->back();
    for (const Read &read : reads.reductions) {
      auto reduction = cast<linalg::GenericOp>(read.value.getDefiningOp());
      if (reduction.getNumReductionLoops() != 1 || !combinerOf(reduction) || !startOf(reduction))
        return std::nullopt;
      for (AffineExpr expr : read.point)
        for (unsigned dim = rowDims; dim < reads.dims; ++dim)
          if (expr.isFunctionOfDim(dim))
            return std::nullopt;
      SmallVector<unsigned> dims;
      reduction.getReductionDims(dims);
      AffineExpr size = loopSize(reduction, dims.front());
      if (!size || (columns && !sameSize(size, columns)))
        return std::nullopt;
      columns = size;
      if (!readsAlong(reduction, dims.front()))
        return std::nullopt;
    }
    return rowSchedule(constantSize(columns), rowVector(op, reads, rank, columns));
  }

  /// The reduction's elements lie beside each other.
  static bool readsAlong(linalg::GenericOp reduction, unsigned dim) {
    return llvm::any_of(reduction.getDpsInputOperands(), [&](OpOperand *operand) {
      AffineMap map = reduction.getMatchingIndexingMap(operand);
      return map.getNumResults() > 0 &&
             map.getResults().back() == getAffineDimExpr(dim, reduction.getContext());
    });
  }

  static int64_t rowVector(Operation *op, const Reads &reads, unsigned rank, AffineExpr columns) {
    // Columns are the last dimension of the result, and one dimension more for each reduction.
    int64_t width = std::max<int64_t>(1, 16 / elementBytes(op->getResult(0)));
    for (unsigned dim = isReduction(op) ? rank : rank - 1; dim < reads.dims; ++dim)
      width = std::min(width, vectorWidth(reads, dim, columns, elementBytes(op->getResult(0))));
    return width;
  }

  func::FuncOp kernel;
};

} // namespace

void chooseSchedules(func::FuncOp kernel, int64_t) { Chooser(kernel).run(); }

} // namespace headrace::cuda
