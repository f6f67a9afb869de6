#include "target/cuda/ChooseSchedule.h"

#include "target/cuda/Product.h"

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace::cuda {
namespace {

constexpr int64_t kPointThreads = 256, kRowThreads = 128, kMostThreads = 1024;
constexpr int64_t kMostHeld = 32; // elements of a row in a thread's registers

int64_t elementBytes(Value tensor) {
  return std::max(1u, cast<RankedTensorType>(tensor.getType()).getElementTypeBitWidth() / 8);
}

std::optional<int64_t> constantSize(AffineExpr expr) {
  return expr ? constantValue(expr) : std::nullopt;
}

/// A size alone may be anything; one of several factors is a batch of what is known.
int64_t sizeOrGuess(AffineExpr expr) {
  constexpr int64_t kGuess = 1024, kBatch = 4;
  if (isa<AffineSymbolExpr>(expr))
    return kGuess;
  SmallVector<AffineExpr> batches(32, constantDim(kBatch, expr.getContext()));
  return constantValue(simplifyAffineExpr(expr.replaceSymbols(batches), 0, 0)).value_or(kGuess);
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
  schedule.lanes = lanes > kWarp ? lanes : std::min<int64_t>(kWarp, llvm::PowerOf2Ceil(vectors));
  if (schedule.lanes > kMostThreads)
    schedule.lanes = kMostThreads;
  else
    schedule.held = llvm::divideCeil(vectors, schedule.lanes);
  schedule.threads = std::max(schedule.lanes, kRowThreads);
  return schedule;
}

class Chooser {
public:
  Chooser(func::FuncOp kernel, bool hasWarpgroups) : kernel(kernel), hasWarpgroups(hasWarpgroups) {}

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
    if (std::optional<FusedProduct> fused = fusedProductOf(op))
      if (std::optional<Schedule> schedule = asProduct(fused->product)) {
        launchCostlyOperands(fused->product.op);
        return set(op, asWarpgroups(fused->product).value_or(*schedule));
      }
    for (auto way : {asRows, asColumns, asTiles})
      if (std::optional<Schedule> schedule = way(op))
        return set(op, *schedule);
    // What is combined on the way is launched before.
    for (const Read &read : readsOf(op, /*throughReductions=*/true).reductions)
      if (read.value.getDefiningOp() != op)
        choose(read.value.getDefiningOp());
    launchCostlyOperands(op);
    set(op, asColumns(op).value_or(asPoints(op)));
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

  /// The tile that takes the least time: by the tiles that fall to one multiprocessor, by what a
  /// small one reads more often, and by the warps it takes to keep a multiprocessor busy.
  static std::optional<Schedule> asProduct(const Product &product) {
    constexpr int64_t kFewest = 16, kMultiprocessors = 132;
    constexpr double kEnoughWarps = 12;
    struct Tile {
      int64_t m, n, threadM, threadN, threads;
      double efficiency;
    };
    constexpr Tile kOfThreads[] = {{128, 128, 8, 8, 256, 1.0},
                                   {128, 64, 8, 8, 128, 0.9},
                                   {64, 64, 8, 4, 128, 0.75},
                                   {32, 32, 8, 4, 32, 0.4}};
    constexpr Tile kOfWarps[] = {{128, 128, 64, 32, 256, 1.0}, {64, 64, 32, 32, 128, 0.7}};
    auto size = [&](ArrayRef<unsigned> loops) { return sizeOrGuess(product.size(loops)); };
    int64_t rows = size(product.m), columns = size(product.n), batches = size(product.batch);
    if (rows < kFewest || columns < kFewest)
      return std::nullopt;
    auto cost = [&](const Tile &tile) {
      int64_t blocks = llvm::divideCeil(rows, tile.m) * llvm::divideCeil(columns, tile.n) * batches;
      auto each = static_cast<double>(llvm::divideCeil(blocks, kMultiprocessors));
      double warps = each * static_cast<double>(tile.threads) / kWarp;
      double work = static_cast<double>(tile.m * tile.n) / tile.efficiency;
      return each * work / std::min(1.0, warps / kEnoughWarps);
    };
    auto elementOf = [](OpOperand *operand) {
      return cast<RankedTensorType>(operand->get().getType()).getElementType();
    };
    bool onTensorCores =
        !elementOf(product.a).isF32() && elementOf(product.a) == elementOf(product.b);
    ArrayRef<Tile> tiles = kOfThreads;
    if (onTensorCores)
      tiles = kOfWarps;
    const Tile &tile =
        *llvm::min_element(tiles, [&](const Tile &a, const Tile &c) { return cost(a) < cost(c); });
    Schedule schedule;
    schedule.kind = onTensorCores ? Schedule::Kind::TensorCores : Schedule::Kind::Product;
    schedule.threads = tile.threads;
    schedule.tileM = tile.m;
    schedule.tileN = tile.n;
    schedule.tileK = onTensorCores ? 32 : 16;
    schedule.threadM = tile.threadM;
    schedule.threadN = tile.threadN;
    // Few tiles: several blocks share the depth of each, a good part of it every one.
    constexpr int64_t kLeastTiles = 8, kMostSplits = 8;
    int64_t warps = llvm::divideCeil(rows, tile.m) * llvm::divideCeil(columns, tile.n) * batches *
                    tile.threads / kWarp;
    std::optional<int64_t> depth = constantSize(product.size(product.k));
    if (depth && *depth % schedule.tileK == 0) {
      int64_t tiles = *depth / schedule.tileK;
      auto wanted =
          static_cast<int64_t>(kEnoughWarps * kMultiprocessors) / std::max<int64_t>(1, warps);
      int64_t most = std::clamp<int64_t>(std::min(wanted, tiles / kLeastTiles), 1, kMostSplits);
      schedule.splits = llvm::divideCeil(tiles, llvm::divideCeil(tiles, most)); // none is empty
    }
    return schedule;
  }

  /// On tensor cores, where the copy engine can read both operands: matrices in memory (or stacks
  /// of them) whose rows begin at multiples of 16 bytes. Others are copied first, with longer rows,
  /// where the product takes much longer than that.
  std::optional<Schedule> asWarpgroups(const Product &product) const {
    constexpr int64_t kMultiprocessors = 132, kRowElements = 8, kLeastCopied = 512;
    // Rows that begin at lines of the cache are read faster; copying pays where that is done often.
    constexpr int64_t kLineElements = 64, kLeastAligned = 2048;
    linalg::GenericOp op = product.op;
    if (!hasWarpgroups || product.m.size() != 1 || product.n.size() != 1 || product.k.size() != 1 ||
        product.batch.size() > 1)
      return std::nullopt;
    auto columns = constantSize(product.size(product.n));
    int64_t least = std::min(sizeOrGuess(product.size(product.m)), columns.value_or(0));
    bool isLarge = least >= kLeastCopied && sizeOrGuess(product.size(product.k)) >= kLeastCopied;
    for (OpOperand *operand : {product.a, product.b}) {
      Operation *producer = operand->get().getDefiningOp();
      Type element = cast<RankedTensorType>(operand->get().getType()).getElementType();
      auto shape = kernelShape(operand->get());
      if (!isa_and_nonnull<bufferization::ToTensorOp>(producer) || element.isF32() || !shape ||
          (!shape->back().isMultipleOf(kRowElements) && !isLarge))
        return std::nullopt;
      SmallVector<unsigned> order(product.batch);
      unsigned outer = operand == product.a ? product.m.front() : product.n.front();
      AffineMap map = op.getMatchingIndexingMap(operand);
      auto is = [&](ArrayRef<unsigned> loops) {
        return map ==
               AffineMap::getMultiDimMapWithTargets(op.getNumLoops(), loops, op.getContext());
      };
      SmallVector<unsigned> depthLast(order), depthFirst(order);
      depthLast.append({outer, product.k.front()});
      depthFirst.append({product.k.front(), outer});
      if (!is(depthLast) && (operand == product.a || !is(depthFirst)))
        return std::nullopt;
    }
    if (!columns)
      return std::nullopt;
    Schedule schedule;
    schedule.kind = Schedule::Kind::Warpgroups;
    schedule.threads = 3 * 128;
    schedule.tileM = 128;
    schedule.tileN = *columns > 128 ? 256 : 128;
    schedule.tileK = 64;
    schedule.stages = schedule.tileN == 256 ? 4 : 6;
    schedule.blocks = kMultiprocessors;
    schedule.padded = least >= kLeastAligned ? kLineElements : kRowElements;
    return schedule;
  }

  /// Many elements to few: several blocks share what a result is combined of.
  static std::optional<Schedule> asColumns(Operation *op) {
    constexpr int64_t kEnoughThreads = 1 << 17, kMostSplits = 512;
    constexpr int64_t kLeastPart = 64, kLeastShared = 16; // of a thread
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || generic.getNumReductionLoops() == 0 || !combinerOf(generic) ||
        !startOf(generic) || readsOf(op, /*throughReductions=*/true).reductions.size() != 1)
      return std::nullopt;
    SmallVector<unsigned> dims;
    generic.getReductionDims(dims);
    int64_t depth = 1, items = 1;
    SmallVector<int64_t> ranges = generic.getStaticLoopRanges();
    for (auto [dim, range] : llvm::enumerate(ranges)) {
      if (ShapedType::isDynamic(range) || range == 0)
        return std::nullopt;
      (llvm::is_contained(dims, dim) ? depth : items) *= range;
    }
    Schedule schedule;
    schedule.kind = Schedule::Kind::Columns;
    schedule.threads = kPointThreads;
    bool liesAlong = depth >= kPointThreads && readsAlong(generic, dims.back());
    schedule.lanes = items < kWarp || liesAlong ? kPointThreads : 1;
    int64_t least = schedule.lanes > 1 ? kLeastShared * schedule.lanes : kLeastPart;
    int64_t wanted = kEnoughThreads / std::max<int64_t>(1, items * schedule.lanes);
    schedule.splits = std::clamp<int64_t>(std::min(wanted, depth / least), 1, kMostSplits);
    if (schedule.splits == 1 && schedule.lanes == 1)
      return std::nullopt;
    int64_t width = 16 / std::min<int64_t>(16, elementBytes(op->getResult(0)));
    bool beginAtVectors = items == 1 || depth % width == 0;
    Reads reads = readsOf(op);
    if (schedule.lanes > 1 && beginAtVectors)
      schedule.vector = vectorWidth(reads, reads.dims - 1, constantDim(width, op->getContext()),
                                    elementBytes(op->getResult(0)));
    return schedule;
  }

  static std::optional<Schedule> asTiles(Operation *op) {
    constexpr int64_t kLeastExtent = 8;
    std::optional<Read> read = transposedRead(op);
    auto shape = kernelShape(op->getResult(0));
    if (!read || !shape)
      return std::nullopt;
    for (unsigned dim = 0; dim + 1 < shape->size(); ++dim) {
      if (strideAlong(*read, dim) != 1 ||
          constantSize((*shape)[dim]).value_or(kLeastExtent) < kLeastExtent ||
          constantSize(shape->back()).value_or(kLeastExtent) < kLeastExtent)
        continue;
      Schedule schedule;
      schedule.kind = Schedule::Kind::Tiles;
      schedule.along = dim;
      return schedule;
    }
    return std::nullopt;
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
    // Several blocks share each of a few long rows.
    std::optional<int64_t> rows =
        constantSize(elementCount(ArrayRef(*shape).take_front(rowDims), op->getContext()));
    constexpr int64_t kFewRows = 64, kLongRow = 1 << 15;
    if (rows && *rows < kFewRows && constantSize(columns).value_or(0) >= kLongRow)
      return std::nullopt;
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
  bool hasWarpgroups;
};

} // namespace

void chooseSchedules(func::FuncOp kernel, bool hasWarpgroups) {
  Chooser(kernel, hasWarpgroups).run();
}

} // namespace headrace::cuda
