#include "target/cuda/schedule/LegalSchedule.h"

#include "target/cuda/schedule/TemplateShapes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace headrace::cuda {
namespace {

constexpr int64_t kMaxVector = 16;
/// A bound on the elements of a row that a thread holds: it leaves registers for computing.
constexpr int64_t kMaxHeldElements = 128;
constexpr int64_t kMaxSplits = 1024;
/// Partial results have 32-bit indices.
constexpr int64_t kMaxPartial = int64_t{1} << 30;

/// How many neighbours along `dim` a thread may take at once: what it reads there lies together.
int64_t neighbours(const Reads &reads, unsigned dim, AffineExpr size) {
  for (const Read &read : reads.memory) {
    std::optional<int64_t> stride = strideAlong(read, dim);
    if (!stride || (*stride != 0 && *stride != 1))
      return 1;
  }
  std::optional<int64_t> count = constantSize(size);
  int64_t width = kMaxVector;
  while (width > 1 && (!count || *count % width != 0))
    width /= 2;
  return width;
}

/// The reduction's elements are adjacent: those of its operands of most dimensions.
bool readsAlong(linalg::GenericOp reduction, unsigned dim) {
  unsigned rank = 0;
  for (OpOperand *operand : reduction.getDpsInputOperands())
    rank = std::max(rank, reduction.getMatchingIndexingMap(operand).getNumResults());
  return llvm::any_of(reduction.getDpsInputOperands(), [&](OpOperand *operand) {
    AffineMap map = reduction.getMatchingIndexingMap(operand);
    return rank > 0 && map.getNumResults() == rank &&
           map.getResults().back() == getAffineDimExpr(dim, reduction.getContext());
  });
}

std::string number(int64_t value) { return std::to_string(value); }

std::optional<Unsupported> refusedVector(int64_t vector, int64_t most) {
  if (vector < 1 || vector > kMaxVector || !llvm::isPowerOf2_64(vector))
    return Unsupported{"vector", "expected 1, 2, 4, 8 or 16"};
  if (vector > most)
    return Unsupported{"vector", "expected at most " + number(most) +
                                     ": more are not contiguous in all operands, or do not divide "
                                     "the number of elements"};
  return std::nullopt;
}

std::optional<Unsupported> refusedPoints(Operation *op, const Schedule &schedule) {
  FormOrReason<PointForm> form = pointsOf(op);
  if (!form)
    return Unsupported{"", form.reason};
  return refusedVector(schedule.vector, form->maxVector);
}

std::optional<Unsupported> refusedRows(Operation *op, const Schedule &schedule) {
  FormOrReason<RowForm> form = rowsOf(op);
  if (!form)
    return Unsupported{"", form.reason};
  int64_t lanes = schedule.lanes;
  if (lanes < 1 || !llvm::isPowerOf2_64(lanes) || schedule.threads % lanes != 0)
    return Unsupported{"lanes",
                       "expected a power of two that divides threads=" + number(schedule.threads)};
  if (lanes > kWarp && lanes != schedule.threads)
    return Unsupported{"lanes", "expected at most " + number(kWarp) +
                                    ", or all threads, which are " + number(schedule.threads)};
  if (auto refusal = refusedVector(schedule.vector, form->maxVector))
    return refusal;
  if (schedule.held == 0)
    return std::nullopt;
  std::optional<int64_t> columns = constantSize(form->columns);
  if (!columns)
    return Unsupported{"held", "expected 0, rows being of unknown length"};
  int64_t least = llvm::divideCeil(*columns, lanes * schedule.vector);
  if (schedule.held != least)
    return Unsupported{"held", "expected 0, or " + number(least) + " for rows of " +
                                   number(*columns) + " elements in lanes=" + number(lanes) +
                                   " vector=" + number(schedule.vector)};
  int64_t most = std::min(kMaxHeldElements, kRegisters / schedule.threads / 2);
  if (schedule.held * schedule.vector > most)
    return Unsupported{"held", "expected at most " + number(most) +
                                   " elements in a thread's registers, got " +
                                   number(schedule.held * schedule.vector)};
  return std::nullopt;
}

std::optional<Unsupported> refusedColumns(Operation *op, const Schedule &schedule) {
  FormOrReason<ColumnForm> form = columnsOf(op);
  if (!form)
    return Unsupported{"", form.reason};
  if (schedule.lanes != 1 && schedule.lanes != schedule.threads)
    return Unsupported{"lanes",
                       "expected 1, or all threads, which are " + number(schedule.threads)};
  if (schedule.lanes > 1 && !llvm::isPowerOf2_64(schedule.threads))
    return Unsupported{"threads", "expected a power of two if all threads compute one result"};
  if (schedule.splits < 1 || schedule.splits > std::min(kMaxSplits, form->depth))
    return Unsupported{"splits", "expected 1 to " + number(std::min(kMaxSplits, form->depth)) +
                                     " of " + number(form->depth) + " elements that are reduced"};
  if (schedule.splits * form->items > kMaxPartial)
    return Unsupported{"splits", "expected at most " + number(kMaxPartial / form->items) +
                                     ", the result having " + number(form->items) + " elements"};
  if (schedule.lanes == 1)
    return refusedVector(schedule.vector, 1);
  if (auto refusal = refusedVector(schedule.vector, form->maxVector))
    return refusal;
  if (form->items > 1 && form->depth % schedule.vector != 0)
    return Unsupported{"vector", "expected a number that divides the " + number(form->depth) +
                                     " elements that are reduced"};
  return std::nullopt;
}

std::optional<Unsupported> refusedTiles(Operation *op, const Schedule &schedule) {
  FormOrReason<TileForm> form = tilesOf(op);
  if (!form)
    return Unsupported{"", form.reason};
  if (!llvm::isPowerOf2_64(schedule.threads))
    return Unsupported{"threads", "expected a power of two, so that they share a tile's " +
                                      number(kTransposedTile) + " rows evenly"};
  if (llvm::is_contained(form->along, schedule.along))
    return std::nullopt;
  std::string list;
  for (int64_t dim : form->along)
    list += (list.empty() ? "" : " or ") + number(dim);
  return Unsupported{"along", "expected " + list + ": the contiguous dimension of the operand"};
}

} // namespace

int64_t elementBytes(Value tensor) {
  return std::max(1u, cast<RankedTensorType>(tensor.getType()).getElementTypeBitWidth() / 8);
}

std::optional<int64_t> constantSize(AffineExpr expr) {
  return expr ? constantValue(expr) : std::nullopt;
}

bool isReduction(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && generic.getNumReductionLoops() > 0;
}

FormOrReason<PointForm> pointsOf(Operation *op) {
  PointForm form;
  Reads reads = readsOf(op);
  auto shape = kernelShape(op->getResult(0));
  bool areWindows = llvm::all_of(reads.reductions, [](const Read &read) {
    return isWindow(cast<linalg::GenericOp>(read.value.getDefiningOp()));
  });
  if (reads.complete && areWindows && shape && !shape->empty())
    form.maxVector = neighbours(reads, shape->size() - 1, shape->back());
  return form;
}

FormOrReason<RowForm> rowsOf(Operation *op) {
  Reads reads = readsOf(op);
  auto shape = kernelShape(op->getResult(0));
  if (!reads.complete || reads.reductions.empty() || !shape)
    return "expected a reduction along rows, got none";
  bool isReduced = isReduction(op);
  if (!isReduced && shape->empty())
    return "expected rows, got a single element";
  unsigned rank = shape->size(), rowDims = isReduced ? rank : rank - 1;
  AffineExpr columns = isReduced ? AffineExpr() : shape->back();
  for (const Read &read : reads.reductions) {
    auto reduction = cast<linalg::GenericOp>(read.value.getDefiningOp());
    if (reduction.getNumReductionLoops() != 1 || !combinerOf(reduction) || !startOf(reduction))
      return "expected reductions along one dimension by one operation, got others";
    for (AffineExpr expr : read.point)
      for (unsigned dim = rowDims; dim < reads.dims; ++dim)
        if (expr.isFunctionOfDim(dim))
          return "expected results that are needed per row, got a reduction that each element of "
                 "a row has for itself";
    SmallVector<unsigned> dims;
    reduction.getReductionDims(dims);
    AffineExpr size = loopSize(reduction, dims.front());
    if (!size || (columns && !sameSize(size, columns)))
      return "expected reductions along rows of the result, got other lengths";
    columns = size;
    if (!readsAlong(reduction, dims.front()))
      return "expected contiguous rows, got a reduction along another "
             "dimension";
  }
  // Columns are the last dimension of the result, and one dimension more for each reduction.
  int64_t most = kMaxVector;
  for (unsigned dim = rowDims; dim < reads.dims; ++dim)
    most = std::min(most, neighbours(reads, dim, columns));
  return RowForm{elementCount(ArrayRef(*shape).take_front(rowDims), op->getContext()), columns,
                 most};
}

FormOrReason<ColumnForm> columnsOf(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumReductionLoops() == 0 || !combinerOf(generic) || !startOf(generic))
    return "expected a reduction by one operation";
  if (readsOf(op, /*throughReductions=*/true).reductions.size() != 1)
    return "expected one reduction, got others on the way";
  SmallVector<unsigned> dims;
  generic.getReductionDims(dims);
  ColumnForm form;
  SmallVector<int64_t> ranges = generic.getStaticLoopRanges();
  for (auto [dim, range] : llvm::enumerate(ranges)) {
    if (ShapedType::isDynamic(range) || range == 0)
      return "expected sizes that are known";
    (llvm::is_contained(dims, dim) ? form.depth : form.items) *= range;
  }
  Reads reads = readsOf(op);
  form.maxVector = neighbours(reads, reads.dims - 1, constantDim(kMaxVector, op->getContext()));
  form.liesAlong = readsAlong(generic, dims.back());
  return form;
}

FormOrReason<TileForm> tilesOf(Operation *op) {
  std::optional<Read> read = transposedRead(op);
  auto shape = kernelShape(op->getResult(0));
  TileForm form;
  if (read && shape)
    for (unsigned dim = 0; dim + 1 < shape->size(); ++dim)
      if (strideAlong(*read, dim) == 1)
        form.along.push_back(dim);
  if (form.along.empty())
    return "expected an element-wise function of one tensor that is transposed";
  return form;
}

std::optional<Unsupported> refusalOf(Operation *op, const Schedule &schedule, bool hasWarpgroups) {
  // The threads of products follow from their tiles.
  if (!isProduct(schedule.kind) &&
      (schedule.threads < kWarp || schedule.threads > kMaxThreads || schedule.threads % kWarp != 0))
    return Unsupported{"threads", "expected a multiple of 32, at most " + number(kMaxThreads)};
  if (!kernelShape(op->getResult(0)))
    return Unsupported{"", "expected a result of known shape"};
  switch (schedule.kind) {
  case Schedule::Kind::Points:
    return refusedPoints(op, schedule);
  case Schedule::Kind::Rows:
    return refusedRows(op, schedule);
  case Schedule::Kind::Columns:
    return refusedColumns(op, schedule);
  case Schedule::Kind::Tiles:
    return refusedTiles(op, schedule);
  case Schedule::Kind::Product:
  case Schedule::Kind::TensorCores:
  case Schedule::Kind::Warpgroups:
    return refusalOfProduct(op, schedule, hasWarpgroups);
  }
  llvm_unreachable("no such schedule");
}

} // namespace headrace::cuda
