#include "target/cuda/schedule/ProposeSchedule.h"

#include "target/cuda/schedule/TemplateShapes.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace headrace::cuda {
namespace {

constexpr int64_t kPointThreads = 256, kRowThreads = 128;
constexpr int64_t kMaxHeld = 32; // elements of a row in a thread's registers

/// Neighbours that a thread takes at once: 16 bytes of them, as far as they lie together.
int64_t vectorOf(Operation *op, int64_t most) {
  return std::min(most, std::max<int64_t>(1, 16 / elementBytes(op->getResult(0))));
}

Schedule points(Operation *op) {
  Schedule schedule;
  schedule.threads = kPointThreads;
  schedule.vector = vectorOf(op, pointsOf(op)->maxVector);
  // Windows take long: rather more threads than wide ones.
  constexpr int64_t kEnoughThreads = 1 << 16;
  if (readsOf(op).reductions.empty())
    return schedule;
  int64_t points = 1;
  std::optional<SymbolicShape> shape = kernelShape(op->getResult(0));
  for (AffineExpr size : *shape)
    points *= constantSize(size).value_or(kEnoughThreads);
  while (schedule.vector > 1 && points / schedule.vector < kEnoughThreads)
    schedule.vector /= 2;
  return schedule;
}

/// The elements of a row are shared among its threads.
Schedule rows(Operation *op, const RowForm &form) {
  Schedule schedule;
  schedule.kind = Schedule::Kind::Rows;
  schedule.vector = vectorOf(op, form.maxVector);
  std::optional<int64_t> columns = constantSize(form.columns);
  if (!columns) {
    schedule.threads = schedule.lanes = kRowThreads;
    return schedule;
  }
  int64_t vectors = llvm::divideCeil(*columns, schedule.vector);
  int64_t lanes = llvm::PowerOf2Ceil(llvm::divideCeil(vectors, kMaxHeld / schedule.vector));
  // A warp if that is enough, and a part of one for short rows.
  schedule.lanes = lanes > kWarp ? lanes : std::min<int64_t>(kWarp, llvm::PowerOf2Ceil(vectors));
  if (schedule.lanes > kMaxThreads)
    schedule.lanes = kMaxThreads;
  else
    schedule.held = llvm::divideCeil(vectors, schedule.lanes);
  // More than a warp has the block for itself.
  schedule.threads = schedule.lanes > kWarp ? schedule.lanes : kRowThreads;
  return schedule;
}

/// Several blocks share the reduction of a result.
Schedule columns(Operation *op, const ColumnForm &form) {
  constexpr int64_t kEnoughThreads = 1 << 17, kMaxSplits = 512;
  constexpr int64_t kMinPart = 64, kMinShared = 16; // of a thread
  Schedule schedule;
  schedule.kind = Schedule::Kind::Columns;
  schedule.threads = kPointThreads;
  bool liesAlong = form.liesAlong && form.depth >= kPointThreads;
  schedule.lanes = form.items < kWarp || liesAlong ? kPointThreads : 1;
  int64_t least = schedule.lanes > 1 ? kMinShared * schedule.lanes : kMinPart;
  int64_t wanted = kEnoughThreads / std::max<int64_t>(1, form.items * schedule.lanes);
  schedule.splits = std::clamp<int64_t>(std::min(wanted, form.depth / least), 1, kMaxSplits);
  int64_t vector = vectorOf(op, form.maxVector);
  if (schedule.lanes > 1 && (form.items == 1 || form.depth % vector == 0))
    schedule.vector = vector;
  return schedule;
}

/// Tiles of a block, and parts of them that a thread (or on tensor cores a warp) has.
struct ProductTile {
  int64_t m, n, threadM, threadN, threads;
  double efficiency; // of a multiprocessor's multiplications, without tensor cores
};

/// How long products take in tiles.
struct ProductModel {
  ArrayRef<ProductTile> tiles;
  double enoughWarps; // on a multiprocessor, to reach what a tile may reach
  double slowness;    // with fewer: their share, to this power
  double beginning;   // of a tile, in steps of the depth
};

/// Matrices that are read in vectors: fitted to the times of ten products in all tiles and splits,
/// on an H200.
constexpr ProductTile kPlainTiles[] = {{128, 128, 8, 8, 256, 0.82}, {128, 64, 8, 8, 128, 0.81},
                                       {64, 128, 8, 8, 128, 0.83},  {64, 64, 8, 4, 128, 0.72},
                                       {64, 64, 4, 4, 256, 0.59},   {32, 64, 4, 4, 128, 0.56},
                                       {32, 32, 4, 4, 64, 0.49}};
const ProductModel kPlain{kPlainTiles, 10, 0.18, 15};

/// Matrices whose rows begin anywhere: read an element at a time, which costs those threads most
/// that bring most.
constexpr ProductTile kUnevenTiles[] = {{128, 128, 8, 8, 256, 0.82}, {128, 64, 8, 8, 128, 0.77},
                                        {64, 128, 8, 8, 128, 0.75},  {64, 64, 8, 4, 128, 0.72},
                                        {64, 64, 4, 4, 256, 0.59},   {32, 64, 4, 4, 128, 0.56},
                                        {32, 32, 4, 4, 64, 0.49}};
const ProductModel kUneven{kUnevenTiles, 10, 0.18, 15};

/// Convolutions, if each element is looked for: it takes more warps to hide that, and longer to
/// begin.
constexpr ProductTile kSearchedTiles[] = {{128, 128, 8, 8, 256, 0.82},
                                          {128, 64, 8, 8, 128, 0.72},
                                          {64, 64, 8, 4, 128, 0.62},
                                          {32, 32, 8, 4, 32, 0.33}};
const ProductModel kSearched{kSearchedTiles, 12, 1, 80};

constexpr ProductTile kWarpTiles[] = {{128, 128, 64, 32, 256, 3.2}, {64, 64, 32, 32, 128, 2.2}};
const ProductModel kOnTensorCores{kWarpTiles, 12, 1, 0};

const ProductModel &modelOf(const Product &product, bool onTensorCores) {
  if (onTensorCores)
    return kOnTensorCores;
  if (product.m.size() > 1 || product.n.size() > 1 || product.k.size() > 1)
    return kSearched;
  bool inVectors = llvm::all_of(ArrayRef{product.a, product.b}, [](OpOperand *operand) {
    auto shape = kernelShape(operand->get());
    return shape && !shape->empty() && shape->back().isMultipleOf(ThreadProductShape::kVector);
  });
  return inVectors ? kPlain : kUneven;
}

/// How long a multiprocessor has to do with its tiles, in multiplications: by their number, all
/// going through theirs at the same time; by what a tile reaches; and by the partial sums that
/// blocks leave if several share the depth of a tile.
double productCost(const Product &product, const ProductModel &model, const ProductTile &tile,
                   int64_t splits, int64_t multiprocessors) {
  constexpr double kMaxWarps = 16; // that fit on a multiprocessor
  // The second launch of partial sums, and bytes of them in the time of a multiplication.
  constexpr double kAdding = 156'000, kBytes = 53;
  auto size = [&](ArrayRef<unsigned> loops) { return product.hintedSize(loops); };
  int64_t rows = size(product.m), columns = size(product.n), batches = size(product.batch);
  int64_t blocks =
      llvm::divideCeil(rows, tile.m) * llvm::divideCeil(columns, tile.n) * batches * splits;
  // Partial sums of many tiles take memory, and would win little.
  int64_t manyTiles = 4 * multiprocessors;
  if (splits > 1 && blocks / splits >= manyTiles)
    return std::numeric_limits<double>::infinity();
  auto each = static_cast<double>(llvm::divideCeil(blocks, multiprocessors));
  double warps = std::min(kMaxWarps, each * static_cast<double>(tile.threads) / kWarp);
  double busy = std::min(1.0, std::pow(warps / model.enoughWarps, model.slowness));
  double depth =
      static_cast<double>(size(product.k)) / static_cast<double>(splits) + model.beginning;
  double cost = each * static_cast<double>(tile.m * tile.n) * depth / (tile.efficiency * busy);
  if (splits == 1)
    return cost;
  auto partialSums = static_cast<double>(splits * batches * rows * columns);
  return cost + kAdding + 2 * sizeof(float) * partialSums / kBytes;
}

/// The tile that takes the least time, and how many blocks share its depth.
Schedule product(const Product &product, bool onTensorCores, int64_t multiprocessors) {
  constexpr int64_t kMinTiles = 4, kMaxSplits = 8; // a good part of the depth for each
  const ProductModel &model = modelOf(product, onTensorCores);
  int64_t tileK = onTensorCores ? 32 : 16;
  std::optional<int64_t> depth = constantSize(product.size(product.k));
  int64_t most = depth && *depth % tileK == 0
                     ? std::clamp<int64_t>(*depth / tileK / kMinTiles, 1, kMaxSplits)
                     : 1;
  Schedule schedule;
  schedule.kind = onTensorCores ? Schedule::Kind::TensorCores : Schedule::Kind::Product;
  schedule.tileK = tileK;
  double least = std::numeric_limits<double>::infinity();
  for (const ProductTile &tile : model.tiles)
    for (int64_t splits = 1; splits <= most; ++splits) {
      double cost = productCost(product, model, tile, splits, multiprocessors);
      int64_t tiles = depth.value_or(0) / tileK, part = llvm::divideCeil(tiles, splits);
      bool isEmpty = splits > 1 && (splits - 1) * part >= tiles; // the last part
      if (isEmpty || cost >= least)
        continue;
      least = cost;
      schedule.threads = tile.threads;
      schedule.tileM = tile.m;
      schedule.tileN = tile.n;
      schedule.threadM = tile.threadM;
      schedule.threadN = tile.threadN;
      schedule.splits = splits;
    }
  return schedule;
}

int64_t fittingStages(Schedule schedule) {
  for (schedule.stages = 6; schedule.stages > 2; --schedule.stages)
    if (WarpgroupShape::sharedBytes(schedule) <= kSharedBytes)
      break;
  return schedule.stages;
}

// What a tile takes besides its columns, in columns.
constexpr int64_t kBesides = 24;

/// Tiles as wide as keeps the multiprocessors busy: all go through their tiles at the same time, so
/// that a few tiles more may cost as much as another for each. Narrow ones read more often.
Schedule warpgroups(const Product &product, int64_t multiprocessors) {
  // Rows that begin at lines of the cache are read faster; copying pays if that is done often.
  constexpr int64_t kRowElements = 8, kLineElements = 64, kMinAligned = 2048;
  constexpr int64_t kWidths[] = {256, 192, 128, 64};
  int64_t rows = product.hintedSize(product.m);
  int64_t columns = *constantSize(product.size(product.n));
  int64_t batches = product.hintedSize(product.batch);
  int64_t least = std::min(rows, columns);
  Schedule schedule;
  schedule.kind = Schedule::Kind::Warpgroups;
  schedule.tileM = rows > 64 ? 128 : 64;
  schedule.threads = (WarpgroupShape::groups(schedule) + 1) * WarpgroupShape::kGroup;
  schedule.tileN = *llvm::min_element(kWidths, [&](int64_t a, int64_t c) {
    auto cost = [&](int64_t width) {
      int64_t tiles =
          batches * llvm::divideCeil(rows, schedule.tileM) * llvm::divideCeil(columns, width);
      return llvm::divideCeil(tiles, multiprocessors) * (width + kBesides);
    };
    return cost(a) < cost(c);
  });
  schedule.tileK = 64;
  schedule.stages = fittingStages(schedule);
  schedule.blocks = multiprocessors;
  schedule.padded = least >= kMinAligned ? kLineElements : kRowElements;
  return schedule;
}

/// The schedule with tiles, which does not depend on the tensor's size.
Schedule tiles(const TileForm &form) {
  Schedule schedule;
  schedule.kind = Schedule::Kind::Tiles;
  schedule.along = form.along.front();
  return schedule;
}

/// Chooses the parameters that were not given, to fit those that were.
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
    set("held", held * schedule.vector <= kMaxHeld ? held : 0);
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
    ArrayRef<ProductTile> tiles = onTensorCores ? kOnTensorCores.tiles : kPlain.tiles;
    const auto *known = llvm::find_if(tiles, [&](const ProductTile &tile) {
      return tile.m == schedule.tileM && tile.n == schedule.tileN;
    });
    if (known != tiles.end() && (given.has("tileM") || given.has("tileN") || given.has("tileK"))) {
      set("threadM", known->threadM);
      set("threadN", known->threadN);
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
    set("threads", (WarpgroupShape::groups(schedule) + 1) * WarpgroupShape::kGroup);
    if (!given.has("tileM") && !given.has("tileN"))
      return;
    set("stages", fittingStages(schedule));
  }

  Operation *op;
  Schedule &schedule;
  const GivenSchedule &given;
};

} // namespace

double productShare(const Product &product, const Schedule &schedule, int64_t multiprocessors) {
  auto size = [&](ArrayRef<unsigned> loops) {
    return static_cast<double>(product.hintedSize(loops));
  };
  double rows = size(product.m), columns = size(product.n), batches = size(product.batch);
  auto processors = static_cast<double>(multiprocessors);
  auto tiles = [&](int64_t height, int64_t width) {
    return batches * std::ceil(rows / static_cast<double>(height)) *
           std::ceil(columns / static_cast<double>(width));
  };
  if (schedule.kind == Schedule::Kind::Warpgroups) {
    double whole = batches * rows * columns / processors;
    double each = std::ceil(tiles(schedule.tileM, schedule.tileN) / processors);
    double widest = 256; // whose share counts as 1
    double besides = static_cast<double>(kBesides);
    double ideal = widest / (widest + besides);
    return whole /
           (each * static_cast<double>(schedule.tileM) *
            (static_cast<double>(schedule.tileN) + besides)) /
           ideal;
  }
  bool onTensorCores = schedule.kind == Schedule::Kind::TensorCores;
  const ProductModel &model = modelOf(product, onTensorCores);
  // Tiles that nobody timed reach what the smallest one does.
  ProductTile tile = model.tiles.back();
  for (const ProductTile &known : model.tiles)
    if (known.m == schedule.tileM && known.n == schedule.tileN) {
      tile = known;
      break;
    }
  tile.m = schedule.tileM;
  tile.n = schedule.tileN;
  tile.threads = schedule.threads;
  double cost = productCost(product, model, tile, schedule.splits, multiprocessors);
  // Multiplications of vector units, of which kPlainTiles says what products reach; tensor cores
  // reach so many times as much at the most.
  constexpr double ofProducts = 0.82, ofTensorCores = 15 * ofProducts;
  double share = batches * rows * columns * size(product.k) / processors / cost;
  return share / (onTensorCores ? ofTensorCores : ofProducts);
}

FormOrReason<Schedule> propose(Operation *op, Schedule::Kind kind, const DeviceTraits &device) {
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
    return of(productOnThreads(op), [&](const FusedProduct &form) {
      return product(form.product, false, device.multiprocessors);
    });
  case Kind::TensorCores:
    return of(productOnTensorCores(op), [&](const FusedProduct &form) {
      return product(form.product, true, device.multiprocessors);
    });
  case Kind::Warpgroups:
    return of(productOnWarpgroups(op, device.hasWarpgroups), [&](const FusedProduct &form) {
      return warpgroups(form.product, device.multiprocessors);
    });
  }
  llvm_unreachable("no such schedule");
}

FormOrReason<Schedule> propose(Operation *op, const GivenSchedule &given,
                               const DeviceTraits &device) {
  FormOrReason<Schedule> proposed = propose(op, given.kind, device);
  if (!proposed)
    return proposed;
  for (const auto &[name, value] : given.parameters)
    proposed.form->parameter(name) = value;
  Completion(op, *proposed.form, given).run();
  return proposed;
}

} // namespace headrace::cuda
