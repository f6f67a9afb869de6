#include "target/cuda/write/ProductTiles.h"

#include "target/cuda/schedule/TemplateShapes.h"

#include <numeric>

using namespace mlir;

namespace headrace::cuda {

ProductTiles::ProductTiles(Stage &stage, const FusedProduct &given, int64_t vector)
    : stage(stage), schedule(stage.schedule), fused(given), product(fused.product), vector(vector),
      kernel(stage.module, stage.op->getLoc(), stage.name, schedule.threads),
      points(kernel, stage.memories), b(kernel.builder()), loc(kernel.loc()) {
  sides[0].operand = product.a;
  sides[0].outer = product.m;
  sides[0].tile = schedule.tileM;
  sides[1].operand = product.b;
  sides[1].outer = product.n;
  sides[1].tile = schedule.tileN;
  for (Side &side : sides) {
    std::optional<int64_t> size = constantValue(product.size(side.outer));
    side.mayExceed = !size || *size < side.tile;
  }
}

bool ProductTiles::dividesLast(ArrayRef<unsigned> loops, int64_t by) {
  auto last = constantValue(loopSize(product.op, loops.back()));
  return last && *last % by == 0;
}

bool ProductTiles::dividesAll(ArrayRef<unsigned> loops, int64_t by) {
  auto size = constantValue(product.size(loops));
  return size && *size % by == 0;
}

SmallVector<AffineExpr> ProductTiles::sizesOf(ArrayRef<unsigned> loops) {
  SmallVector<AffineExpr> sizes;
  for (unsigned loop : loops)
    sizes.push_back(loopSize(product.op, loop));
  return sizes;
}

Value ProductTiles::elementAt(Value base, Type type, Value index) {
  Value wide = b.create<arith::IndexCastUIOp>(loc, b.getI64Type(), index);
  return b.create<LLVM::GEPOp>(loc, base.getType(), type, base, ArrayRef<LLVM::GEPArg>{wide},
                               /*inbounds=*/true);
}

Value ProductTiles::elementAt(Value base, Type type, int64_t index) {
  return b.create<LLVM::GEPOp>(loc, base.getType(), type, base,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)},
                               /*inbounds=*/true);
}

Value ProductTiles::lane(Value vectorValue, int64_t which) {
  return b.create<LLVM::ExtractElementOp>(
      loc, vectorValue,
      b.create<LLVM::ConstantOp>(loc, b.getI32Type(), b.getI32IntegerAttr(which)));
}

Value ProductTiles::vectorOf(ArrayRef<Value> values) {
  auto type = VectorType::get(static_cast<int64_t>(values.size()), values.front().getType());
  Value result = b.create<LLVM::UndefOp>(loc, type);
  for (auto [i, value] : llvm::enumerate(values))
    result = b.create<LLVM::InsertElementOp>(
        loc, result, value,
        b.create<LLVM::ConstantOp>(loc, b.getI32Type(), b.getI32IntegerAttr(i)));
  return result;
}

Point ProductTiles::positions(ArrayRef<unsigned> loops, AffineExpr index, int64_t width,
                              bool mayExceed) {
  if (mayExceed)
    index = points.addCoordinate(b.create<arith::MinUIOp>(
        loc, points.value(index), points.value(product.size(loops) - width)));
  if (loops.size() == 1)
    return {index};
  return asCoordinates(points, delinearized(index, sizesOf(loops)));
}

Value ProductTiles::beginOf(const Side &side, AffineExpr tile) {
  Value begin = mul(points.value(tile), side.tile);
  if (side.mayExceed || dividesAll(side.outer, side.tile))
    return begin;
  return b.create<arith::MinUIOp>(loc, begin, points.value(product.size(side.outer) - side.tile));
}

void ProductTiles::prepare(Side &side, Value firstOuter) {
  AffineMap map = product.op.getMatchingIndexingMap(side.operand);
  side.alongK =
      map.getNumResults() > 0 && map.getResults().back().isFunctionOfDim(product.k.back());
  side.inVectors =
      side.alongK ? product.k.size() == 1 || dividesLast(product.k, vector)
                  : dividesLast(side.outer, vector) || (side.outer.size() == 1 && !side.mayExceed);
  allocate(side);
  int64_t loads = side.tile * schedule.tileK / vector / schedule.threads;
  int64_t acrossVectors = (side.alongK ? schedule.tileK : side.tile) / vector;
  Value along = mul(rem(kernel.thread(), acrossVectors), vector);
  Value across = div(kernel.thread(), acrossVectors);
  AffineExpr first = points.addCoordinate(add(firstOuter, side.alongK ? across : along));
  for (int64_t i = 0; i < loads; ++i) {
    int64_t step = i * (schedule.threads / acrossVectors);
    Side::Load place;
    place.kInTile = side.alongK ? along : across;
    place.kStep = side.alongK ? 0 : step;
    place.outerInTile = side.alongK ? across : along;
    place.outerStep = side.alongK ? step : 0;
    AffineExpr outer = first + place.outerStep;
    if (side.alongK || side.inVectors)
      place.outerLoops = positions(side.outer, outer, side.alongK ? 1 : vector, side.mayExceed);
    else
      for (int64_t v = 0; v < vector; ++v)
        place.laneLoops.push_back(positions(side.outer, outer + v, 1, side.mayExceed));
    side.places.push_back(place);
  }
}

Pack ProductTiles::read(Side &side, ArrayRef<AffineExpr> outer, ArrayRef<AffineExpr> depth,
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
  // Vectors along the depth begin where what is left over ends.
  int64_t multiple = side.alongK                       ? std::gcd(vector, leftOver)
                     : dividesLast(side.outer, vector) ? vector
                                                       : 1;
  if (lanes)
    points.setLanes(lanes, vector, multiple);
  Pack values = points.at(side.operand->get(), place);
  points.setLanes({}, 1);
  for (Value &value : values)
    value = converted(value);
  return values;
}

SmallVector<Pack> ProductTiles::load(Side &side, Value firstK, AffineExpr bound) {
  auto bounded = [&](AffineExpr k, Pack values) {
    if (!bound)
      return values;
    Value isInside = points.less(k, bound);
    Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(values.front().getType()));
    for (Value &value : values)
      value = b.create<arith::SelectOp>(loc, isInside, value, zero);
    return values;
  };
  SmallVector<Pack> packs;
  bool mayExceed = static_cast<bool>(bound);
  for (Side::Load &place : side.places) {
    AffineExpr k = points.addCoordinate(add(firstK, place.kInTile)) + place.kStep;
    Pack &pack = packs.emplace_back();
    if (side.inVectors && !(side.alongK && bound)) {
      Point depth = positions(product.k, k, 1, mayExceed);
      AffineExpr lanes = side.alongK ? depth.back() : place.outerLoops.back();
      pack = bounded(k, read(side, place.outerLoops, depth, lanes));
      continue;
    }
    for (int64_t v = 0; v < vector; ++v) {
      AffineExpr one = side.alongK ? k + v : k;
      Point depth = positions(product.k, one, 1, mayExceed);
      const Point &outer = side.alongK || side.inVectors ? place.outerLoops : place.laneLoops[v];
      pack.append(bounded(one, read(side, outer, depth, {})));
    }
  }
  return packs;
}

void ProductTiles::storeAt(Value row, Value column, ArrayRef<Value> values) {
  linalg::GenericOp generic = product.op;
  PointWriter::Scope scope(points);
  Value isInside;
  auto require = [&](Value index, const Side &side) {
    if (!side.mayExceed)
      return;
    Value one = less(index, points.value(product.size(side.outer)));
    isInside = isInside ? b.create<arith::AndIOp>(loc, isInside, one).getResult() : one;
  };
  require(row, sides[0]);
  require(column, sides[1]);
  if (isInside)
    onlyWhere(kernel, isInside);
  Point loops(generic.getNumLoops(), constantDim(0, kernel.context()));
  auto assign = [&](ArrayRef<unsigned> dims, ArrayRef<AffineExpr> place) {
    for (auto [dim, expr] : llvm::zip_equal(dims, place))
      loops[dim] = expr;
  };
  assign(product.batch, batch);
  assign(product.m, positions(product.m, points.addCoordinate(row), 1, false));
  assign(product.n, positions(product.n, points.addCoordinate(column), 1, false));
  if (values.size() > 1)
    points.setLanes(loops[product.n.back()], values.size());
  storeElements(loops, values);
  points.setLanes({}, 1);
}

void ProductTiles::storeElements(Point loops, ArrayRef<Value> values) {
  linalg::GenericOp generic = product.op;
  AffineMap resultMap = generic.getIndexingMapMatchingResult(generic->getResult(0));
  if (schedule.splits > 1) {
    Point place{split};
    for (AffineExpr expr : resultMap.getResults())
      place.push_back(expr.replaceDims(loops));
    return points.store(partial, place, Pack(values.begin(), values.end()));
  }
  Point place(stage.result.shape.size());
  for (auto [dim, expr] : llvm::zip_equal(fused.rootDims, resultMap.getResults()))
    place[dim] = expr.replaceDims(loops);
  Type element = cast<RankedTensorType>(generic.getResult(0).getType()).getElementType();
  current.clear();
  for (Value value : values)
    current.push_back(value.getType() == element
                          ? value
                          : b.create<arith::TruncFOp>(loc, element, value).getResult());
  points.store(stage.result, place, points.compute(stage.op, place));
}

/// A thread has a vector of the result.
void ProductTiles::addPartialSums() {
  constexpr int64_t kThreads = 256;
  KernelWriter adder(stage.module, loc, stage.name + "_sum", kThreads);
  PointWriter sums(adder, stage.memories);
  OpBuilder &c = adder.builder();
  std::optional<int64_t> last = constantValue(stage.result.shape.back());
  int64_t width = last && *last % 4 == 0 ? 4 : 1;
  SmallVector<AffineExpr> sizes(stage.result.shape);
  sizes.back() = sizes.back().floorDiv(width);
  AffineExpr items = elementCount(sizes, adder.context());
  Value first = c.create<arith::MulIOp>(loc, adder.block(), adder.number(kThreads));
  AffineExpr item = sums.addCoordinate(c.create<arith::AddIOp>(loc, first, adder.thread()));
  onlyWhere(adder, sums.less(item, items));
  Point place = asCoordinates(sums, delinearized(item, sizes));
  place.back() = sums.addCoordinate(sums.value(place.back() * width));
  sums.setLanes(place.back(), width);
  Type element = cast<RankedTensorType>(product.op.getResult(0).getType()).getElementType();
  sums.setComputer([&](Value value, ArrayRef<AffineExpr> point) -> std::optional<Pack> {
    if (value != product.op.getResult(0))
      return std::nullopt;
    Pack total;
    for (int64_t part = 0; part < schedule.splits; ++part) {
      Point at{constantDim(part, adder.context())};
      at.append(point.begin(), point.end());
      Pack next = sums.load(partial, at);
      if (part == 0)
        total = next;
      else
        for (auto [sum, term] : llvm::zip_equal(total, next))
          sum = c.create<arith::AddFOp>(loc, sum, term);
    }
    for (Value &sum : total)
      if (!element.isF32())
        sum = c.create<arith::TruncFOp>(loc, element, sum);
    return total;
  });
  sums.store(stage.result, place, sums.compute(stage.op, place));
  stage.launches.push_back(adder.finish({items.ceilDiv(kThreads)}));
}

void ProductTiles::storePoints(Value row, Value column, ArrayRef<Value> values) {
  if (dividesLast(product.n, static_cast<int64_t>(values.size())))
    return storeAt(row, column, values);
  for (auto [v, value] : llvm::enumerate(values))
    storeAt(row, add(column, number(v)), value);
}

SmallVector<Value> ProductTiles::multiplyAll() {
  // Tiles of the depth: whole ones, and one that is filled up. If the depth is known the loop
  // reads whole tiles only, after what is left over; else every tile is read with care.
  AffineExpr depth = product.size(product.k);
  std::optional<int64_t> known = constantValue(depth);
  bool isKnown = known && *known >= schedule.tileK;
  AffineExpr whole = isKnown ? depth.floorDiv(schedule.tileK) : depth.ceilDiv(schedule.tileK);
  AffineExpr bound = isKnown ? AffineExpr() : depth;
  leftOver = isKnown ? *known % schedule.tileK : 0;

  Value zero = number(0), one = number(1), last = points.value(whole - 1);
  Value firstTile = zero, steps = points.value(leftOver ? whole + 1 : whole);
  if (schedule.splits > 1) { // the depth is known then, and nothing is left over
    AffineExpr part = whole.ceilDiv(schedule.splits);
    firstTile = points.value(split * part);
    Value left = b.create<arith::SubIOp>(loc, steps, firstTile);
    steps = b.create<arith::MinUIOp>(loc, left, points.value(part));
    last = b.create<arith::SubIOp>(loc, steps, one);
  }
  AffineExpr firstBound = leftOver ? constantDim(leftOver, kernel.context()) : bound;
  for (Side &side : sides)
    store(side, zero, load(side, mul(firstTile, schedule.tileK), firstBound));
  b.create<gpu::BarrierOp>(loc);
  auto loop = b.create<scf::ForOp>(loc, zero, steps, one, zeroSums());
  PointWriter::Scope scope(points);
  b.setInsertionPointToStart(loop.getBody());
  Value step = loop.getInductionVar();
  Value buffer = rem(step, 2), next = b.create<arith::SubIOp>(loc, one, buffer);
  // The last step brings a tile once more, which is not read.
  Value following = b.create<arith::MinUIOp>(loc, leftOver ? step : add(step, one), last);
  Value firstK = add(mul(add(firstTile, following), schedule.tileK), number(leftOver));
  SmallVector<Pack> a = load(sides[0], firstK, bound), c = load(sides[1], firstK, bound);
  SmallVector<Value> sums = multiply(buffer, SmallVector<Value>(loop.getRegionIterArgs()));
  store(sides[0], next, a);
  store(sides[1], next, c);
  b.create<gpu::BarrierOp>(loc);
  b.create<scf::YieldOp>(loc, sums);
  return SmallVector<Value>(loop.getResults());
}

/// The number of resident blocks that the registers allow.
int64_t ProductTiles::residentBlocks() {
  constexpr int64_t kMaxWarps = 16, kMaxBlocks = 8;
  int64_t bits = getElementTypeOrSelf(product.a->get()).getIntOrFloatBitWidth();
  int64_t threads = std::min(kMaxWarps * kWarp, kRegisters / productRegisters(schedule, bits));
  return std::clamp<int64_t>(threads / schedule.threads, 1, kMaxBlocks);
}

LogicalResult ProductTiles::write() {
  AffineExpr rowTiles = product.size(product.m).ceilDiv(schedule.tileM);
  AffineExpr columnTiles = product.size(product.n).ceilDiv(schedule.tileN);
  AffineExpr batches = product.size(product.batch);
  kernel.setResidentBlocks(residentBlocks());

  // Blocks go through the columns of a row of tiles first: they share the rows of A.
  AffineExpr splits = constantDim(schedule.splits, kernel.context());
  Point tile = asCoordinates(points, delinearized(points.addCoordinate(kernel.block()),
                                                  {splits, batches, rowTiles, columnTiles}));
  split = tile[0];
  batch = asCoordinates(points, delinearized(tile[1], sizesOf(product.batch)));
  firstRow = beginOf(sides[0], tile[2]);
  firstColumn = beginOf(sides[1], tile[3]);
  if (schedule.splits > 1) {
    partial = stage.result;
    partial.element = b.getF32Type();
    partial.shape = *kernelShape(product.op.getResult(0));
    partial.shape.insert(partial.shape.begin(), splits);
    partial.place = stage.allocate(elementCount(partial.shape, kernel.context()) * sizeof(float));
  }
  prepare(sides[0], firstRow);
  prepare(sides[1], firstColumn);
  SmallVector<Value> sums = multiplyAll();
  points.setComputer([&](Value value, ArrayRef<AffineExpr>) -> std::optional<Pack> {
    if (value == product.op.getResult(0))
      return current;
    return std::nullopt;
  });
  storeResult(sums);
  stage.launches.push_back(kernel.finish({splits * batches * rowTiles * columnTiles}));
  if (schedule.splits > 1) {
    partial.written = false;
    addPartialSums();
  }
  return failure(points.failed());
}

} // namespace headrace::cuda
