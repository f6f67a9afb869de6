// Schedule "product": a block has a tile of a matrix product in registers.
//
// Before:
//   %c = contraction ; %r = max(%c + bias, 0)
//        {cuda.schedule = {kind = "product", tileM = 128, tileN = 128, tileK = 16, ...}}
// After:
//   for k-tiles: next tiles of A and B from memory to registers;
//                c[8][8] += a[8] * b[8] from shared memory, 16 times; registers to shared memory
//   r = max(c + bias, 0), stored four columns at a time
//
// Two buffers in shared memory, so that there is one barrier a tile. A lies there with rows as the
// fastest dimension: a thread's eight rows and columns are two vectors of each. Beyond the edges
// the last row and column are computed again and dropped; zeros fill up the depth: where it is
// known, in the first tile, so that the loop reads without asking.
// A convolution is the same with loops of the window in k: the image is read where it lies.
#include "target/cuda/Product.h"
#include "target/cuda/Templates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace headrace::cuda {
namespace {

constexpr int64_t kVector = 4;

class ProductWriter {
public:
  ProductWriter(Stage &stage, FusedProduct fused)
      : stage(stage), schedule(stage.schedule), fused(fused), product(this->fused.product),
        kernel(stage.module, stage.op->getLoc(), stage.name, schedule.threads),
        points(kernel, stage.memories), b(kernel.builder()), loc(kernel.loc()) {}

  LogicalResult write();

private:
  /// One of the two operands: how threads bring its tiles into shared memory.
  struct Side {
    OpOperand *operand;
    ArrayRef<unsigned> outer; // loops: m of A, n of B
    int64_t tile;             // outer elements of a tile
    bool alongK;              // neighbours in memory are neighbours in k
    int64_t stride;           // of k in shared memory, in elements
    int64_t loads;            // vectors that each thread loads
    Value shared;
    /// For each load, its place in the tile and the loops of the outer positions, none of them
    /// beyond the edge: those of the vector's beginning, or of each lane where an edge may cut it.
    struct Load {
      Value outerInTile, kInTile;
      Point outerLoops;
      SmallVector<Point> laneLoops;
    };
    SmallVector<Load> places;
    bool inVectors; // neighbours along the vector are neighbours in memory
  };

  Value number(int64_t value) { return kernel.number(value); }
  Value add(Value x, Value y) { return b.create<arith::AddIOp>(loc, x, y); }
  Value mul(Value x, int64_t y) { return b.create<arith::MulIOp>(loc, x, number(y)); }
  Value div(Value x, int64_t y) { return b.create<arith::DivUIOp>(loc, x, number(y)); }
  Value rem(Value x, int64_t y) { return b.create<arith::RemUIOp>(loc, x, number(y)); }
  Type vectorType() { return VectorType::get(kVector, b.getF32Type()); }

  bool dividesLast(ArrayRef<unsigned> loops, int64_t by) {
    auto last = constantValue(loopSize(product.op, loops.back()));
    return last && *last % by == 0;
  }
  bool dividesAll(ArrayRef<unsigned> loops, int64_t by) {
    auto size = constantValue(product.size(loops));
    return size && *size % by == 0;
  }
  SmallVector<AffineExpr> sizesOf(ArrayRef<unsigned> loops) {
    SmallVector<AffineExpr> sizes;
    for (unsigned loop : loops)
      sizes.push_back(loopSize(product.op, loop));
    return sizes;
  }
  /// The loops' positions at a linear index, clamped so that it and `width` - 1 more exist.
  Point positions(ArrayRef<unsigned> loops, Value index, int64_t width, bool mayExceed);

  void prepare(Side &side, Value firstOuter);
  /// The tile of an operand that begins at `firstK` into registers, with zeros from `bound` on.
  SmallVector<Pack> load(Side &side, Value firstK, AffineExpr bound);
  Pack read(Side &side, ArrayRef<AffineExpr> outer, ArrayRef<AffineExpr> depth, AffineExpr lanes);
  void store(Side &side, Value buffer, ArrayRef<Pack> packs);
  Value element(Value base, Value index);
  Value at(Value base, int64_t offset);
  SmallVector<Value> multiply(Value buffer, SmallVector<Value> sums);
  void storeResult(ArrayRef<Value> sums);
  Value splat(Value vector, int64_t lane);
  Value lane(Value vector, int64_t lane);

  Stage &stage;
  const Schedule &schedule;
  FusedProduct fused;
  Product &product;
  KernelWriter kernel;
  PointWriter points;
  OpBuilder &b;
  Location loc;
  Side sides[2];
  Point batch;
  Value rowFragment, columnFragment; // of the thread, in vectors
  Value firstRow, firstColumn;       // of the block
  int64_t rowVectors = 0, columnVectors = 0;
};

Point ProductWriter::positions(ArrayRef<unsigned> loops, Value index, int64_t width,
                               bool mayExceed) {
  if (mayExceed) {
    Value last = points.value(product.size(loops) - width);
    index = b.create<arith::MinUIOp>(loc, index, last);
  }
  SmallVector<AffineExpr> sizes = sizesOf(loops);
  return asCoordinates(points, delinearized(points.addCoordinate(index), sizes));
}

void ProductWriter::prepare(Side &side, Value firstOuter) {
  AffineMap map = product.op.getMatchingIndexingMap(side.operand);
  side.alongK =
      map.getNumResults() > 0 && map.getResults().back().isFunctionOfDim(product.k.back());
  side.stride = side.tile + (side.alongK ? kVector : 0);
  side.loads = side.tile * schedule.tileK / kVector / schedule.threads;
  side.shared = kernel.shared(2 * schedule.tileK * side.stride * sizeof(float));
  bool mayExceed = !dividesAll(side.outer, side.tile);
  side.inVectors = side.alongK ? product.k.size() == 1 || dividesLast(product.k, kVector)
                               : dividesLast(side.outer, kVector);
  int64_t acrossVectors = (side.alongK ? schedule.tileK : side.tile) / kVector;
  Value along = mul(rem(kernel.thread(), acrossVectors), kVector);
  Value across = div(kernel.thread(), acrossVectors);
  for (int64_t i = 0; i < side.loads; ++i) {
    Side::Load place;
    Value step = add(across, number(i * (schedule.threads / acrossVectors)));
    place.kInTile = side.alongK ? along : step;
    place.outerInTile = side.alongK ? step : along;
    Value outer = add(firstOuter, place.outerInTile);
    if (side.alongK || side.inVectors)
      place.outerLoops = positions(side.outer, outer, side.alongK ? 1 : kVector, mayExceed);
    else
      for (int64_t v = 0; v < kVector; ++v)
        place.laneLoops.push_back(positions(side.outer, add(outer, number(v)), 1, mayExceed));
    side.places.push_back(place);
  }
}

/// The elements of an operand, as f32.
Pack ProductWriter::read(Side &side, ArrayRef<AffineExpr> outer, ArrayRef<AffineExpr> depth,
                         AffineExpr lanes) {
  Point loops(product.op.getNumLoops(), constantDim(0, kernel.context()));
  auto assign = [&](ArrayRef<unsigned> dims, ArrayRef<AffineExpr> place) {
    for (auto [dim, expr] : llvm::zip_equal(dims, place))
      loops[dim] = expr;
  };
  assign(product.batch, batch);
  assign(side.outer, outer);
  assign(product.k, depth);
  Point place;
  for (AffineExpr expr : product.op.getMatchingIndexingMap(side.operand).getResults())
    place.push_back(expr.replaceDims(loops));
  if (lanes)
    points.setLanes(lanes, kVector);
  Pack values = points.at(side.operand->get(), place);
  points.setLanes({}, 1);
  for (Value &value : values)
    if (!value.getType().isF32())
      value = b.create<arith::ExtFOp>(loc, b.getF32Type(), value);
  return values;
}

SmallVector<Pack> ProductWriter::load(Side &side, Value firstK, AffineExpr bound) {
  Value zero = b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(0));
  auto bounded = [&](Value k, Pack values) {
    if (bound) {
      Value isInside =
          b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, k, points.value(bound));
      for (Value &value : values)
        value = b.create<arith::SelectOp>(loc, isInside, value, zero);
    }
    return values;
  };
  SmallVector<Pack> packs;
  bool mayExceed = static_cast<bool>(bound);
  for (Side::Load &place : side.places) {
    Value k = add(firstK, place.kInTile);
    Pack &pack = packs.emplace_back();
    if (side.inVectors && !(side.alongK && bound)) {
      Point depth = positions(product.k, k, 1, mayExceed);
      AffineExpr lanes = side.alongK ? depth.back() : place.outerLoops.back();
      pack = bounded(k, read(side, place.outerLoops, depth, lanes));
      continue;
    }
    for (int64_t v = 0; v < kVector; ++v) {
      Value one = side.alongK ? add(k, number(v)) : k;
      Point depth = positions(product.k, one, 1, mayExceed);
      const Point &outer = side.alongK ? place.outerLoops : place.laneLoops[v];
      pack.append(bounded(one, read(side, outer, depth, {})));
    }
  }
  return packs;
}

Value ProductWriter::element(Value base, Value index) {
  Value wide = b.create<arith::IndexCastUIOp>(loc, b.getI64Type(), index);
  return b.create<LLVM::GEPOp>(loc, base.getType(), b.getF32Type(), base,
                               ArrayRef<LLVM::GEPArg>{wide}, /*inbounds=*/true);
}

Value ProductWriter::at(Value base, int64_t offset) {
  return b.create<LLVM::GEPOp>(loc, base.getType(), b.getF32Type(), base,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)},
                               /*inbounds=*/true);
}

Value ProductWriter::lane(Value vector, int64_t lane) {
  return b.create<LLVM::ExtractElementOp>(
      loc, vector, b.create<LLVM::ConstantOp>(loc, b.getI32Type(), b.getI32IntegerAttr(lane)));
}

Value ProductWriter::splat(Value vector, int64_t which) {
  Value value = lane(vector, which), undefined = b.create<LLVM::UndefOp>(loc, vectorType());
  Value first = b.create<LLVM::ConstantOp>(loc, b.getI32Type(), b.getI32IntegerAttr(0));
  Value one = b.create<LLVM::InsertElementOp>(loc, undefined, value, first);
  return b.create<LLVM::ShuffleVectorOp>(loc, one, undefined, ArrayRef<int32_t>{0, 0, 0, 0});
}

void ProductWriter::store(Side &side, Value buffer, ArrayRef<Pack> packs) {
  Value base = mul(buffer, schedule.tileK * side.stride);
  for (auto [place, pack] : llvm::zip_equal(side.places, packs)) {
    Value address =
        element(side.shared, add(add(base, mul(place.kInTile, side.stride)), place.outerInTile));
    if (side.alongK) {
      for (auto [v, value] : llvm::enumerate(pack))
        b.create<LLVM::StoreOp>(loc, value, at(address, v * side.stride), sizeof(float));
      continue;
    }
    Value vector = b.create<LLVM::UndefOp>(loc, vectorType());
    for (auto [v, value] : llvm::enumerate(pack))
      vector = b.create<LLVM::InsertElementOp>(
          loc, vector, value,
          b.create<LLVM::ConstantOp>(loc, b.getI32Type(), b.getI32IntegerAttr(v)));
    b.create<LLVM::StoreOp>(loc, vector, address, kVector * sizeof(float));
  }
}

/// The products of a tile: sums[(row vector, row), column vector].
SmallVector<Value> ProductWriter::multiply(Value buffer, SmallVector<Value> sums) {
  auto fragment = [&](Side &side, Value vector) {
    return element(side.shared,
                   add(mul(buffer, schedule.tileK * side.stride), mul(vector, kVector)));
  };
  Value rows = fragment(sides[0], rowFragment), columns = fragment(sides[1], columnFragment);
  for (int64_t k = 0; k < schedule.tileK; ++k) {
    SmallVector<Value> left, right;
    for (int64_t i = 0; i < rowVectors; ++i)
      left.push_back(b.create<LLVM::LoadOp>(loc, vectorType(),
                                            at(rows, k * sides[0].stride + i * 4 * kVector), 16));
    for (int64_t j = 0; j < columnVectors; ++j)
      right.push_back(b.create<LLVM::LoadOp>(
          loc, vectorType(), at(columns, k * sides[1].stride + j * 8 * kVector), 16));
    for (int64_t i = 0; i < rowVectors; ++i)
      for (int64_t r = 0; r < kVector; ++r) {
        Value factor = splat(left[i], r);
        for (int64_t j = 0; j < columnVectors; ++j) {
          Value &sum = sums[(i * kVector + r) * columnVectors + j];
          sum = b.create<LLVM::FMAOp>(loc, vectorType(), factor, right[j], sum);
        }
      }
  }
  return sums;
}

void ProductWriter::storeResult(ArrayRef<Value> sums) {
  AffineExpr rows = product.size(product.m), columns = product.size(product.n);
  bool rowsExceed = !dividesAll(product.m, schedule.tileM);
  bool columnsExceed = !dividesAll(product.n, schedule.tileN);
  bool whole = dividesLast(product.n, kVector);
  linalg::GenericOp generic = product.op;
  AffineMap resultMap = generic.getIndexingMapMatchingResult(generic->getResult(0));
  Type element = cast<RankedTensorType>(generic.getResult(0).getType()).getElementType();

  Pack current;
  points.setComputer([&](Value value, ArrayRef<AffineExpr>) -> std::optional<Pack> {
    if (value == product.op.getResult(0))
      return current;
    return std::nullopt;
  });
  auto storeAt = [&](Value row, Value column, int64_t width, Value sum, int64_t firstLane) {
    PointWriter::Scope scope(points);
    Value isInside;
    auto require = [&](Value index, AffineExpr size) {
      Value one =
          b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, index, points.value(size));
      isInside = isInside ? b.create<arith::AndIOp>(loc, isInside, one).getResult() : one;
    };
    if (rowsExceed)
      require(row, rows);
    if (columnsExceed)
      require(column, columns);
    if (isInside)
      onlyWhere(kernel, isInside);
    Point loops(generic.getNumLoops(), constantDim(0, kernel.context()));
    auto assign = [&](ArrayRef<unsigned> dims, ArrayRef<AffineExpr> place) {
      for (auto [dim, expr] : llvm::zip_equal(dims, place))
        loops[dim] = expr;
    };
    assign(product.batch, batch);
    assign(product.m, positions(product.m, row, 1, false));
    assign(product.n, positions(product.n, column, width, false));
    Point place(stage.result.shape.size());
    for (auto [dim, expr] : llvm::zip_equal(fused.rootDims, resultMap.getResults()))
      place[dim] = expr.replaceDims(loops);
    if (width > 1)
      points.setLanes(loops[product.n.back()], width);
    current.clear();
    for (int64_t v = 0; v < width; ++v) {
      Value value = lane(sum, firstLane + v);
      if (!element.isF32())
        value = b.create<arith::TruncFOp>(loc, element, value);
      current.push_back(value);
    }
    points.store(stage.result, place, points.compute(stage.op, place));
    points.setLanes({}, 1);
  };
  for (int64_t i = 0; i < rowVectors; ++i)
    for (int64_t r = 0; r < kVector; ++r) {
      Value row = add(firstRow, add(mul(rowFragment, kVector), number(i * 4 * kVector + r)));
      for (int64_t j = 0; j < columnVectors; ++j) {
        Value sum = sums[(i * kVector + r) * columnVectors + j];
        Value column = add(firstColumn, add(mul(columnFragment, kVector), number(j * 8 * kVector)));
        if (whole) {
          storeAt(row, column, kVector, sum, 0);
          continue;
        }
        for (int64_t v = 0; v < kVector; ++v)
          storeAt(row, add(column, number(v)), 1, sum, v);
      }
    }
}

LogicalResult ProductWriter::write() {
  AffineExpr rows = product.size(product.m), columns = product.size(product.n);
  AffineExpr rowTiles = rows.ceilDiv(schedule.tileM), columnTiles = columns.ceilDiv(schedule.tileN);
  AffineExpr batches = product.size(product.batch);
  rowVectors = schedule.threadM / kVector;
  columnVectors = schedule.threadN / kVector;
  if (schedule.tileM <= 64)
    kernel.setResidentBlocks(4);
  else
    kernel.setResidentBlocks(2);

  // Blocks go through the columns of a row of tiles first: they share the rows of A.
  Point tile = asCoordinates(
      points, delinearized(points.addCoordinate(kernel.block()), {batches, rowTiles, columnTiles}));
  batch = asCoordinates(points, delinearized(tile[0], sizesOf(product.batch)));
  firstRow = mul(points.value(tile[1]), schedule.tileM);
  firstColumn = mul(points.value(tile[2]), schedule.tileN);

  // A warp has 4 x 8 threads.
  int64_t warpColumns = schedule.tileN / (8 * schedule.threadN);
  Value warp = div(kernel.thread(), kWarp), inWarp = rem(kernel.thread(), kWarp);
  rowFragment = add(mul(div(warp, warpColumns), 4 * rowVectors), div(inWarp, 8));
  columnFragment = add(mul(rem(warp, warpColumns), 8 * columnVectors), rem(inWarp, 8));

  sides[0].operand = product.a;
  sides[0].outer = product.m;
  sides[0].tile = schedule.tileM;
  sides[1].operand = product.b;
  sides[1].outer = product.n;
  sides[1].tile = schedule.tileN;
  prepare(sides[0], firstRow);
  prepare(sides[1], firstColumn);

  // Tiles of the depth: whole ones, and one that is filled up. Where the depth is known the loop
  // reads whole tiles only, after what is left over; else every tile is read with care.
  AffineExpr depth = product.size(product.k);
  std::optional<int64_t> known = constantValue(depth);
  bool isKnown = known && *known >= schedule.tileK;
  int64_t leftOver = isKnown ? *known % schedule.tileK : 0;
  AffineExpr whole = isKnown ? depth.floorDiv(schedule.tileK) : depth.ceilDiv(schedule.tileK);
  AffineExpr bound = isKnown ? AffineExpr() : depth;

  Value zero = number(0), one = number(1), last = points.value(whole - 1);
  AffineExpr firstBound = leftOver ? constantDim(leftOver, kernel.context()) : bound;
  for (Side &side : sides)
    store(side, zero, load(side, zero, firstBound));
  b.create<gpu::BarrierOp>(loc);
  SmallVector<Value> sums(rowVectors * kVector * columnVectors,
                          b.create<LLVM::ZeroOp>(loc, vectorType()));
  Value steps = points.value(leftOver ? whole + 1 : whole);
  auto loop = b.create<scf::ForOp>(loc, zero, steps, one, sums);
  {
    PointWriter::Scope scope(points);
    b.setInsertionPointToStart(loop.getBody());
    Value step = loop.getInductionVar();
    Value current = rem(step, 2), next = b.create<arith::SubIOp>(loc, one, current);
    // The last step brings a tile once more, which nobody reads.
    Value following = b.create<arith::MinUIOp>(loc, leftOver ? step : add(step, one), last);
    Value firstK = add(mul(following, schedule.tileK), number(leftOver));
    SmallVector<Pack> a = load(sides[0], firstK, bound), c = load(sides[1], firstK, bound);
    SmallVector<Value> results = multiply(current, SmallVector<Value>(loop.getRegionIterArgs()));
    store(sides[0], next, a);
    store(sides[1], next, c);
    b.create<gpu::BarrierOp>(loc);
    b.create<scf::YieldOp>(loc, results);
  }
  sums.assign(loop.result_begin(), loop.result_end());
  storeResult(sums);
  stage.launches.push_back(kernel.finish({batches * rowTiles * columnTiles}));
  return failure(points.failed());
}

} // namespace

LogicalResult writeProduct(Stage &stage) {
  std::optional<FusedProduct> fused = fusedProductOf(stage.op);
  if (!fused)
    return stage.op->emitError("is no matrix product");
  return ProductWriter(stage, *fused).write();
}

} // namespace headrace::cuda
