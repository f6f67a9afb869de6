#include "target/cuda/ProposeSchedule.h"

#include "target/cuda/TemplateShapes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace headrace::cuda {
namespace {

constexpr int64_t kPointThreads = 256, kRowThreads = 128;
constexpr int64_t kMostHeld = 32; // elements of a row in a thread's registers
constexpr int64_t kMultiprocessors = 132;

/// Neighbours that a thread takes at once: 16 bytes of them, as far as they lie together.
int64_t vectorOf(Operation *op, int64_t most) {
  return std::min(most, std::max<int64_t>(1, 16 / elementBytes(op->getResult(0))));
}

Schedule points(Operation *op) {
  Schedule schedule;
  schedule.threads = kPointThreads;
  schedule.vector = vectorOf(op, pointsOf(op)->mostVector);
  return schedule;
}

/// The elements of a row are shared among its threads.
Schedule rows(Operation *op, const RowForm &form) {
  Schedule schedule;
  schedule.kind = Schedule::Kind::Rows;
  schedule.vector = vectorOf(op, form.mostVector);
  std::optional<int64_t> columns = constantSize(form.columns);
  if (!columns) {
    schedule.threads = schedule.lanes = kRowThreads;
    return schedule;
  }
  int64_t vectors = llvm::divideCeil(*columns, schedule.vector);
  int64_t lanes = llvm::PowerOf2Ceil(llvm::divideCeil(vectors, kMostHeld / schedule.vector));
  // A warp where that is enough, and a part of one for short rows.
  schedule.lanes = lanes > kWarp ? lanes : std::min<int64_t>(kWarp, llvm::PowerOf2Ceil(vectors));
  if (schedule.lanes > kMostThreads)
    schedule.lanes = kMostThreads;
  else
    schedule.held = llvm::divideCeil(vectors, schedule.lanes);
  // More than a warp has the block for itself.
  schedule.threads = schedule.lanes > kWarp ? schedule.lanes : kRowThreads;
  return schedule;
}

/// Several blocks share what a result is combined of.
Schedule columns(Operation *op, const ColumnForm &form) {
  constexpr int64_t kEnoughThreads = 1 << 17, kMostSplits = 512;
  constexpr int64_t kLeastPart = 64, kLeastShared = 16; // of a thread
  Schedule schedule;
  schedule.kind = Schedule::Kind::Columns;
  schedule.threads = kPointThreads;
  bool liesAlong = form.liesAlong && form.depth >= kPointThreads;
  schedule.lanes = form.items < kWarp || liesAlong ? kPointThreads : 1;
  int64_t least = schedule.lanes > 1 ? kLeastShared * schedule.lanes : kLeastPart;
  int64_t wanted = kEnoughThreads / std::max<int64_t>(1, form.items * schedule.lanes);
  schedule.splits = std::clamp<int64_t>(std::min(wanted, form.depth / least), 1, kMostSplits);
  int64_t vector = vectorOf(op, form.mostVector);
  if (schedule.lanes > 1 && (form.items == 1 || form.depth % vector == 0))
    schedule.vector = vector;
  return schedule;
}

/// Tiles of a block, parts of them that a thread (or on tensor cores a warp) has, and how well they
/// use what they read.
struct ProductTile {
  int64_t m, n, threadM, threadN, threads;
  double efficiency;
};
constexpr ProductTile kOfThreads[] = {{128, 128, 8, 8, 256, 1.0},
                                      {128, 64, 8, 8, 128, 0.9},
                                      {64, 64, 8, 4, 128, 0.75},
                                      {32, 32, 8, 4, 32, 0.4}};
constexpr ProductTile kOfWarps[] = {{128, 128, 64, 32, 256, 1.0}, {64, 64, 32, 32, 128, 0.7}};

ArrayRef<ProductTile> tilesFor(bool onTensorCores) {
  return onTensorCores ? ArrayRef(kOfWarps) : ArrayRef(kOfThreads);
}

/// The tile that takes the least time: by the tiles that fall to one multiprocessor, by what a
/// small one reads more often, and by the warps it takes to keep a multiprocessor busy.
Schedule product(const Product &product, bool onTensorCores) {
  constexpr double kEnoughWarps = 12;
  auto size = [&](ArrayRef<unsigned> loops) { return sizeOrGuess(product.size(loops)); };
  int64_t rows = size(product.m), columns = size(product.n), batches = size(product.batch);
  auto cost = [&](const ProductTile &tile) {
    int64_t blocks = llvm::divideCeil(rows, tile.m) * llvm::divideCeil(columns, tile.n) * batches;
    auto each = static_cast<double>(llvm::divideCeil(blocks, kMultiprocessors));
    double warps = each * static_cast<double>(tile.threads) / kWarp;
    double work = static_cast<double>(tile.m * tile.n) / tile.efficiency;
    return each * work / std::min(1.0, warps / kEnoughWarps);
  };
  ArrayRef<ProductTile> tiles = tilesFor(onTensorCores);
  const ProductTile &tile = *llvm::min_element(
      tiles, [&](const ProductTile &a, const ProductTile &c) { return cost(a) < cost(c); });
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

/// Tiles of all columns where they are few.
Schedule warpgroups(const Product &product) {
  // Rows that begin at lines of the cache are read faster; copying pays where that is done often.
  constexpr int64_t kRowElements = 8, kLineElements = 64, kLeastAligned = 2048;
  int64_t columns = *constantSize(product.size(product.n));
  int64_t least = std::min(sizeOrGuess(product.size(product.m)), columns);
  Schedule schedule;
  schedule.kind = Schedule::Kind::Warpgroups;
  schedule.threads = 3 * 128;
  schedule.tileM = 128;
  schedule.tileN = columns > 128 ? 256 : 128;
  schedule.tileK = 64;
  schedule.stages = schedule.tileN == 256 ? 4 : 6;
  schedule.blocks = kMultiprocessors;
  schedule.padded = least >= kLeastAligned ? kLineElements : kRowElements;
  return schedule;
}

/// The same for every size of the tensor.
Schedule tiles(const TileForm &form) {
  Schedule schedule;
  schedule.kind = Schedule::Kind::Tiles;
  schedule.along = form.along.front();
  return schedule;
}

/// What follows from the parameters that were given, for those that were not.
class Completion {
public:
  Completion(Operation *op, Schedule &schedule, const GivenSchedule &given)
      : op(op), schedule(schedule), given(given) {}

  void run() {
    switch (schedule.kind) {
    case Schedule::Kind::Points:
    case Schedule::Kind::Tiles:
      return;
    case Schedule::Kind::Rows:
      return completeRows();
    case Schedule::Kind::Columns:
      return completeColumns();
    case Schedule::Kind::Product:
    case Schedule::Kind::TensorCores:
      return completeProduct();
    case Schedule::Kind::Warpgroups:
      return completeWarpgroups();
    }
  }

private:
  void set(StringRef parameter, int64_t value) {
    if (!given.has(parameter))
      schedule.parameter(parameter) = value;
  }

  void completeRows() {
    if (given.has("threads") && schedule.lanes > kWarp)
      set("lanes", schedule.threads);
    if (given.has("lanes"))
      set("threads", schedule.lanes > kWarp ? schedule.lanes : kRowThreads);
    int64_t step = schedule.lanes * schedule.vector;
    std::optional<int64_t> columns = constantSize(rowsOf(op)->columns);
    if (!columns || step < 1 ||
        !(given.has("lanes") || given.has("threads") || given.has("vector")))
      return;
    int64_t held = llvm::divideCeil(*columns, step);
    set("held", held * schedule.vector <= kMostHeld ? held : 0);
  }

  void completeColumns() {
    if (schedule.lanes > 1 || given.has("vector"))
      set("lanes", schedule.threads);
    if (schedule.lanes > 1)
      set("threads", schedule.lanes);
    if (schedule.lanes <= 1)
      set("vector", 1);
  }

  void completeProduct() {
    bool onTensorCores = schedule.kind == Schedule::Kind::TensorCores;
    for (const ProductTile &tile : tilesFor(onTensorCores))
      if (tile.m == schedule.tileM && tile.n == schedule.tileN) {
        set("threadM", tile.threadM);
        set("threadN", tile.threadN);
      }
    int64_t across = onTensorCores ? 1 : ThreadProductShape::kWarpRows;
    int64_t along = onTensorCores ? 1 : ThreadProductShape::kWarpColumns;
    if (schedule.threadM > 0 && schedule.threadN > 0)
      set("threads", schedule.tileM / schedule.threadM / across *
                         (schedule.tileN / schedule.threadN / along) * kWarp);
    if (given.has("tileM") || given.has("tileN") || given.has("tileK"))
      set("splits", 1);
  }

  void completeWarpgroups() {
    constexpr int64_t kEnoughStages = 6;
    set("threads", (WarpgroupShape::groups(schedule) + 1) * WarpgroupShape::kGroup);
    if (!given.has("tileM") && !given.has("tileN"))
      return;
    Schedule fitting = schedule;
    fitting.stages = kEnoughStages;
    while (fitting.stages > 2 && WarpgroupShape::sharedBytes(fitting) > kSharedBytes)
      --fitting.stages;
    set("stages", fitting.stages);
  }

  Operation *op;
  Schedule &schedule;
  const GivenSchedule &given;
};

} // namespace

/// A size alone may be anything; one of several factors is a batch of what is known.
int64_t sizeOrGuess(AffineExpr expr) {
  constexpr int64_t kGuess = 1024, kBatch = 4;
  if (isa<AffineSymbolExpr>(expr))
    return kGuess;
  SmallVector<AffineExpr> batches(32, constantDim(kBatch, expr.getContext()));
  return constantValue(simplifyAffineExpr(expr.replaceSymbols(batches), 0, 0)).value_or(kGuess);
}

FormOrReason<Schedule> propose(Operation *op, Schedule::Kind kind, bool hasWarpgroups) {
  using Kind = Schedule::Kind;
  auto of = [](const auto &form, auto numbers) -> FormOrReason<Schedule> {
    return form ? FormOrReason<Schedule>(numbers(*form)) : FormOrReason<Schedule>(form.reason);
  };
  switch (kind) {
  case Kind::Points:
    return points(op);
  case Kind::Rows:
    return of(rowsOf(op), [&](const RowForm &form) { return rows(op, form); });
  case Kind::Columns:
    return of(columnsOf(op), [&](const ColumnForm &form) { return columns(op, form); });
  case Kind::Tiles:
    return of(tilesOf(op), tiles);
  case Kind::Product:
    return of(productOnThreads(op),
              [](const FusedProduct &form) { return product(form.product, false); });
  case Kind::TensorCores:
    return of(productOnTensorCores(op),
              [](const FusedProduct &form) { return product(form.product, true); });
  case Kind::Warpgroups:
    return of(productOnWarpgroups(op, hasWarpgroups),
              [](const FusedProduct &form) { return warpgroups(form.product); });
  }
  llvm_unreachable("no such schedule");
}

FormOrReason<Schedule> propose(Operation *op, const GivenSchedule &given, bool hasWarpgroups) {
  FormOrReason<Schedule> proposed = propose(op, given.kind, hasWarpgroups);
  if (!proposed)
    return proposed;
  for (const auto &[name, value] : given.parameters)
    proposed.form->parameter(name) = value;
  Completion(op, *proposed.form, given).run();
  return proposed;
}

} // namespace headrace::cuda
