// Which tiles of matrix products the templates can be written for.
#include "target/cuda/schedule/LegalSchedule.h"
#include "target/cuda/schedule/TemplateShapes.h"

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

using namespace mlir;

namespace headrace::cuda {
namespace {

constexpr int64_t kMaxTile = 512;
constexpr int64_t kMaxSplits = 64;
constexpr int64_t kMaxPartial = int64_t{1} << 30; // partial sums have 32-bit indices

std::string number(int64_t value) { return std::to_string(value); }

std::optional<Unsupported> notMultiple(StringRef parameter, int64_t value, int64_t of,
                                       int64_t most = kMaxTile) {
  if (value > 0 && value % of == 0 && value <= most)
    return std::nullopt;
  return Unsupported{parameter,
                     "expected a multiple of " + number(of) + ", at most " + number(most)};
}

/// How threads bring tiles of an operand into shared memory: each an equal number of vectors, the
/// threads side by side along whole rows of the tile.
std::optional<Unsupported> refusedLoads(const Product &product, const Schedule &schedule, bool isA,
                                        int64_t vector) {
  linalg::GenericOp op = product.op;
  AffineMap map = op.getMatchingIndexingMap(isA ? product.a : product.b);
  bool alongDepth =
      map.getNumResults() > 0 && map.getResults().back().isFunctionOfDim(product.k.back());
  int64_t tile = isA ? schedule.tileM : schedule.tileN;
  int64_t along = alongDepth ? schedule.tileK : tile;
  int64_t vectors = tile * schedule.tileK / vector, across = along / vector;
  StringRef parameter = isA ? "tileM" : "tileN";
  if (schedule.threads % across != 0)
    return Unsupported{alongDepth ? "tileK" : parameter,
                       "expected rows of a tile whose " + number(across) + " vectors of " +
                           number(vector) + " divide threads=" + number(schedule.threads)};
  if (vectors % schedule.threads != 0)
    return Unsupported{parameter, "expected tiles whose " + number(vectors) + " vectors of " +
                                      number(vector) +
                                      " are shared evenly by threads=" + number(schedule.threads)};
  return std::nullopt;
}

std::optional<Unsupported> refusedSplits(const Product &product, const Schedule &schedule) {
  if (schedule.splits == 1)
    return std::nullopt;
  std::optional<int64_t> depth = constantSize(product.size(product.k));
  if (!depth || *depth % schedule.tileK != 0)
    return Unsupported{"splits",
                       "expected 1, the depth " + (depth ? number(*depth) + " " : "") +
                           "not being a known multiple of tileK=" + number(schedule.tileK)};
  int64_t tiles = *depth / schedule.tileK;
  if (schedule.splits < 1 || schedule.splits > std::min(kMaxSplits, tiles))
    return Unsupported{"splits", "expected 1 to " + number(std::min(kMaxSplits, tiles)) +
                                     ", the depth having " + number(tiles) + " tiles"};
  int64_t part = llvm::divideCeil(tiles, schedule.splits);
  if ((schedule.splits - 1) * part >= tiles)
    return Unsupported{"splits", "expected " + number(llvm::divideCeil(tiles, part)) +
                                     ": parts of " + number(part) + " tiles leave none of " +
                                     number(tiles) + " for the last"};
  linalg::GenericOp op = product.op;
  auto shape = kernelShape(op.getResult(0));
  std::optional<int64_t> items =
      shape ? constantSize(elementCount(*shape, op.getContext())) : std::nullopt;
  if (items && *items * schedule.splits > kMaxPartial)
    return Unsupported{"splits", "expected 1, the result having " + number(*items) + " elements"};
  return std::nullopt;
}

/// The conditions that "product" and "tensorcores" share.
std::optional<Unsupported> refusedTiles(const Product &product, const Schedule &schedule,
                                        int64_t vector, int64_t threads, int64_t sharedBytes) {
  if (threads > kMaxThreads)
    return Unsupported{"tileM", "expected tiles for at most " + number(kMaxThreads) +
                                    " threads, got " + number(threads)};
  if (schedule.threads != threads)
    return Unsupported{"threads", "expected " + number(threads) + " for tiles of tileM=" +
                                      number(schedule.tileM) + " tileN=" + number(schedule.tileN) +
                                      " in parts of threadM=" + number(schedule.threadM) +
                                      " threadN=" + number(schedule.threadN)};
  if (sharedBytes > kStaticSharedBytes)
    return Unsupported{"tileK", "expected tiles of at most " + number(kStaticSharedBytes) +
                                    " bytes of shared memory, got " + number(sharedBytes)};
  for (bool isA : {true, false})
    if (auto refusal = refusedLoads(product, schedule, isA, vector))
      return refusal;
  int64_t registers =
      productRegisters(schedule, getElementTypeOrSelf(product.a->get()).getIntOrFloatBitWidth());
  int64_t most = std::min(kMaxRegisters, kRegisters / threads);
  if (registers > most)
    return Unsupported{"threadM", "expected at most " + number(most) +
                                      " registers in each of threads=" + number(threads) +
                                      " for its part of the tiles, got " + number(registers)};
  return refusedSplits(product, schedule);
}

std::optional<Unsupported> refusedThreads(const Product &product, const Schedule &schedule) {
  using Shape = ThreadProductShape;
  for (auto [name, value] :
       {std::pair("threadM", schedule.threadM), std::pair("threadN", schedule.threadN)})
    if (auto refusal = notMultiple(name, value, Shape::kVector, /*most=*/32))
      return refusal;
  int64_t warpRows = Shape::kWarpRows * schedule.threadM;
  int64_t warpColumns = Shape::kWarpColumns * schedule.threadN;
  if (auto refusal = notMultiple("tileM", schedule.tileM, warpRows))
    return refusal;
  if (auto refusal = notMultiple("tileN", schedule.tileN, warpColumns))
    return refusal;
  if (auto refusal = notMultiple("tileK", schedule.tileK, Shape::kVector))
    return refusal;
  int64_t warps = schedule.tileM / warpRows * (schedule.tileN / warpColumns);
  int64_t rowBytes = 2 * schedule.tileK * static_cast<int64_t>(sizeof(float));
  return refusedTiles(product, schedule, Shape::kVector, warps * kWarp,
                      rowBytes * (schedule.tileM + schedule.tileN + 2 * Shape::kVector));
}

std::optional<Unsupported> refusedTensorCores(const Product &product, const Schedule &schedule) {
  using Shape = TensorCoreShape;
  if (auto refusal = notMultiple("threadM", schedule.threadM, Shape::kRows))
    return refusal;
  if (auto refusal = notMultiple("threadN", schedule.threadN, Shape::kColumns))
    return refusal;
  if (auto refusal = notMultiple("tileM", schedule.tileM, schedule.threadM))
    return refusal;
  if (auto refusal = notMultiple("tileN", schedule.tileN, schedule.threadN))
    return refusal;
  if (auto refusal = notMultiple("tileK", schedule.tileK, Shape::kDepth))
    return refusal;
  int64_t warps = schedule.tileM / schedule.threadM * (schedule.tileN / schedule.threadN);
  int64_t rowBytes = 2 * (schedule.tileK + Shape::kVector) * Shape::kElementBytes;
  return refusedTiles(product, schedule, Shape::kVector, warps * kWarp,
                      rowBytes * (schedule.tileM + schedule.tileN));
}

/// Operand rows whose length is not a multiple of `padded` are copied into longer ones.
std::optional<Unsupported> refusedPadding(const Product &product, const Schedule &schedule) {
  constexpr int64_t kMaxPadding = 1024, kMaxElements = int64_t{1} << 31;
  if (auto refusal =
          notMultiple("padded", schedule.padded, 16 / WarpgroupShape::kElementBytes, kMaxPadding))
    return refusal;
  for (OpOperand *operand : {product.a, product.b}) {
    SymbolicShape shape = *kernelShape(operand->get());
    shape.back() = shape.back().ceilDiv(schedule.padded) * schedule.padded;
    // Kernels of greater tensors have wide indices; those of unknown size, too.
    MLIRContext *context = operand->getOwner()->getContext();
    auto given = constantSize(elementCount(*kernelShape(operand->get()), context));
    auto copied = constantSize(elementCount(shape, context));
    if (given && copied && *given <= kMaxPartial && *copied > kMaxElements)
      return Unsupported{"padded", "expected copies of at most " + number(kMaxElements) +
                                       " elements, got " + number(*copied)};
  }
  return std::nullopt;
}

std::optional<Unsupported> refusedWarpgroups(const Product &product, const Schedule &schedule) {
  using Shape = WarpgroupShape;
  constexpr int64_t kMaxBox = 256;        // elements that the copy engine takes along a dimension
  constexpr int64_t kOtherRegisters = 32; // of a thread, next to its sums
  constexpr int64_t kRowElements = Shape::kRowBytes / Shape::kElementBytes;
  if (auto refusal = notMultiple("tileM", schedule.tileM, Shape::kGroupRows, kMaxBox))
    return refusal;
  if (auto refusal = notMultiple("tileN", schedule.tileN, kRowElements, kMaxBox))
    return refusal;
  if (schedule.tileK != kRowElements)
    return Unsupported{"tileK", "expected " + number(kRowElements)};
  int64_t threads = (Shape::groups(schedule) + 1) * Shape::kGroup;
  if (schedule.threads != threads)
    return Unsupported{"threads",
                       "expected " + number(threads) + ": a group of " + number(Shape::kGroup) +
                           " for each " + number(Shape::kGroupRows) +
                           " rows of tileM=" + number(schedule.tileM) + ", and one that copies"};
  int64_t registers = std::min(kMaxRegisters, kRegisters / threads);
  int64_t held = schedule.tileN / 2 + kOtherRegisters;
  if (held > registers)
    return Unsupported{"tileN", "expected at most " + number(registers) +
                                    " registers of each of threads=" + number(threads) + ", got " +
                                    number(held)};
  Schedule most = schedule;
  for (most.stages = 1; Shape::sharedBytes(most) <= kSharedBytes;)
    ++most.stages;
  if (schedule.stages < 2 || schedule.stages >= most.stages)
    return Unsupported{"stages", "expected 2 to " + number(most.stages - 1) + " in the " +
                                     number(kSharedBytes) + " bytes of shared memory"};
  if (schedule.blocks < 1 || schedule.blocks > 65535)
    return Unsupported{"blocks", "expected 1 to 65535"};
  return refusedPadding(product, schedule);
}

} // namespace

FormOrReason<FusedProduct> productOnThreads(Operation *op) {
  if (std::optional<FusedProduct> fused = fusedProductOf(op))
    return *fused;
  return "expected a matmul: sums of products of two tensors' elements in f32, f16 or "
         "bf16, "
         "and no other reduction";
}

FormOrReason<FusedProduct> productOnTensorCores(Operation *op) {
  FormOrReason<FusedProduct> fused = productOnThreads(op);
  if (!fused)
    return fused;
  const Product &product = fused->product;
  if (getElementTypeOrSelf(product.a->get()).isF32() ||
      getElementTypeOrSelf(product.a->get()) != getElementTypeOrSelf(product.b->get()))
    return "expected a matmul of two tensors in f16 or two in bf16";
  return fused;
}

FormOrReason<FusedProduct> productOnWarpgroups(Operation *op, bool hasWarpgroups) {
  if (!hasWarpgroups)
    return "expected a device with warp groups (sm_90a)";
  FormOrReason<FusedProduct> fused = productOnTensorCores(op);
  if (!fused)
    return fused;
  const Product &product = fused->product;
  linalg::GenericOp generic = product.op;
  if (product.m.size() != 1 || product.n.size() != 1 || product.k.size() != 1)
    return "expected a matmul, batched or not";
  if (!constantSize(product.size(product.n)))
    return "expected a known number of columns";
  for (OpOperand *operand : {product.a, product.b}) {
    Operation *producer = operand->get().getDefiningOp();
    if (!isa_and_nonnull<bufferization::ToTensorOp>(producer) || !kernelShape(operand->get()))
      return "expected operands in memory, got one that is computed in the kernel";
    constexpr unsigned kMaxDims = 5; // that the copy engine knows
    unsigned outer = operand == product.a ? product.m.front() : product.n.front();
    AffineMap map = generic.getMatchingIndexingMap(operand);
    AffineExpr last = map.getNumResults() > 0 ? map.getResults().back() : AffineExpr();
    bool liesTogether = last == getAffineDimExpr(outer, op->getContext()) ||
                        last == getAffineDimExpr(product.k.front(), op->getContext());
    if (!map.isProjectedPermutation() || !liesTogether || map.getNumResults() > kMaxDims)
      return "expected operands with contiguous rows or columns, of at most five dimensions";
  }
  return fused;
}

std::optional<Unsupported> refusalOfProduct(Operation *op, const Schedule &schedule,
                                            bool hasWarpgroups) {
  using Kind = Schedule::Kind;
  FormOrReason<FusedProduct> fused = schedule.kind == Kind::Product ? productOnThreads(op)
                                     : schedule.kind == Kind::TensorCores
                                         ? productOnTensorCores(op)
                                         : productOnWarpgroups(op, hasWarpgroups);
  if (!fused)
    return Unsupported{"", fused.reason};
  if (schedule.kind == Kind::Product)
    return refusedThreads(fused->product, schedule);
  if (schedule.kind == Kind::TensorCores)
    return refusedTensorCores(fused->product, schedule);
  return refusedWarpgroups(fused->product, schedule);
}

} // namespace headrace::cuda
