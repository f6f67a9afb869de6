#include "target/cpu/recipe/ScheduleKernel.h"

#include "target/cpu/loops/PlainLoops.h"
#include "target/cpu/recipe/KernelShape.h"
#include "target/cpu/recipe/ScheduleSteps.h"
#include "target/cpu/recipe/ScheduleTiles.h"
#include "target/cpu/walk/WalkPlan.h"
#include "transform/recipe/Prefetch.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using Kind = headrace::CpuSchedule::Kind;

namespace headrace {
namespace {

constexpr int64_t kElementwiseCell = 8192;
constexpr int64_t kWantedCells = 16; // enough to share evenly among a few threads

} // namespace

KernelScheduler::KernelScheduler(func::FuncOp kernel, const Machine &machine)
    : loops(kernel, machine), walk(findWalk(kernel)) {}

StringRef KernelScheduler::stage() const {
  if (!walk)
    return loops.contents.root ? stageOf(loops.contents.root) : "";
  StringRef last;
  scf::ForallOp(walk).getBody()->walk([&](linalg::GenericOp op) { last = stageOf(op); });
  return last;
}

//===------------------------------------------------------------------------===//
// Schedules that are legal for the kernel
//===------------------------------------------------------------------------===//

/// The kind that should be fastest.
Kind KernelScheduler::naturalKind() const {
  if (walk)
    return Kind::Walk;
  if (!whyPlain().empty())
    return Kind::Plain;
  ArrayRef<linalg::GenericOp> reductions = loops.contents.reductions;
  if (reductions.empty())
    return dimReadAcross(loops) ? Kind::Transposed : Kind::Points;
  return llvm::all_of(reductions, reducesRows) ? Kind::Rows : Kind::Tiles;
}

std::string KernelScheduler::whyPlain() const {
  if (walk)
    return "";
  ArrayRef<linalg::GenericOp> reductions = loops.contents.reductions;
  linalg::GenericOp root = loops.contents.rootGeneric();
  if (!root)
    return "it is sequential, or moves data in an order that loops do not describe";
  if (isEmpty())
    return "something in it has no elements";
  if (!loops.vectorizable)
    return "booleans are not computed in vectors";
  if (!llvm::all_of(loops.contents.ops, [](Operation *op) { return isa<linalg::GenericOp>(op); }))
    return "a part of it moves data in an order that loops do not describe";
  if (root.getRegion()
          .walk([](tensor::ExtractOp) { return WalkResult::interrupt(); })
          .wasInterrupted())
    return "it gathers elements";
  if (reductions.empty()) {
    if (loops.ranges.empty())
      return "it computes a single element";
    return loops.contents.ops.size() > 1 ? "its functions could not become one" : "";
  }
  if (llvm::all_of(reductions, reducesRows))
    return llvm::all_of(reductions, combinesInAnyOrder)
               ? ""
               : "its reduction may depend on the order of the elements";
  if (reductions.size() > 1)
    return "it has several reductions, and not all are along rows";
  return TileScheduler(loops).applies()
             ? ""
             : "its operands are not contiguous along the last dimension of its result";
}

/// Whether plain loops can be those of rows instead: all in it is computed for one row, then for
/// the next.
bool KernelScheduler::canRunByRows() const {
  ArrayRef<linalg::GenericOp> reductions = loops.contents.reductions;
  return loops.contents.rootGeneric() && !isEmpty() && !reductions.empty() &&
         llvm::all_of(reductions, reducesRows) &&
         llvm::all_of(loops.contents.ops, [](Operation *op) { return isa<linalg::GenericOp>(op); });
}

/// Something in it has no elements: there is no size to cut into cells, tiles or vectors.
bool KernelScheduler::isEmpty() const {
  return llvm::any_of(loops.contents.ops, [](Operation *op) {
    return llvm::any_of(op->getOperandTypes(), [](Type type) {
      auto shaped = dyn_cast<ShapedType>(type);
      return shaped && llvm::is_contained(shaped.getShape(), 0);
    });
  });
}

std::string KernelScheduler::refusalOf(const CpuSchedule &schedule) const {
  Kind natural = naturalKind();
  bool isPossible = schedule.kind == natural ||
                    (schedule.kind == Kind::Plain && natural != Kind::Walk) ||
                    (schedule.kind == Kind::Points && natural == Kind::Transposed) ||
                    (schedule.kind == Kind::Rows && natural == Kind::Plain && canRunByRows());
  if (!isPossible)
    return "expected " + CpuSchedule::kindNames()[static_cast<size_t>(natural)].str() +
           (natural == Kind::Plain && canRunByRows()          ? ", or rows"
            : natural == Kind::Walk || natural == Kind::Plain ? ""
                                                              : ", or plain");
  auto most = [&](StringRef name, int64_t least, int64_t limit) -> std::string {
    int64_t value = schedule.parameter(name);
    return value >= least && value <= limit ? ""
                                            : name.str() + ": expected " + std::to_string(least) +
                                                  " to " + std::to_string(limit);
  };
  int64_t longest = 16 * loops.lanes();
  switch (schedule.kind) {
  case Kind::Plain:
    return most("cells", 1, 1 << 20);
  case Kind::Points: {
    int64_t size = loops.ranges.back(), vector = schedule.vector;
    bool isOpen = ShapedType::isDynamic(size);
    int64_t limit = schedule.cell ? schedule.cell : isOpen ? longest : size;
    if (std::string reason = most("vector", 1, std::min(longest, limit)); !reason.empty())
      return reason;
    if (isOpen && schedule.cell == 0)
      return "cell: expected a number, since the dimension is dynamic";
    if (schedule.cell % vector != 0 || (!isOpen && schedule.cell > size))
      return "cell: expected a multiple of the vector, at most the size, or 0";
    return "";
  }
  case Kind::Transposed:
    return "";
  case Kind::Rows: {
    if (natural == Kind::Plain)
      return schedule.vector == 0 ? "" : "vector: expected 0, since " + whyPlain();
    int64_t length = rowLength(loops);
    return most("vector", 0, length ? std::min(longest, length) : longest);
  }
  case Kind::Tiles:
    return TileScheduler(loops).refusalOf(schedule);
  case Kind::Walk:
    if (std::string reason = most("rows", 1, 32); !reason.empty())
      return reason;
    if (std::string reason = most("prefetch", 0, 1); !reason.empty())
      return reason;
    return loops.form.walk.refusalOf(schedule.blocks, schedule.block);
  }
  llvm_unreachable("no such schedule");
}

SmallVector<int64_t> KernelScheduler::domainOf(const CpuSchedule &schedule, StringRef name) const {
  SmallVector<int64_t> candidates;
  int64_t lanes = loops.lanes();
  if (name == "vector" || name == "columns")
    candidates = {1, lanes / 2, lanes, 2 * lanes, 3 * lanes, 4 * lanes, 8 * lanes};
  else if (name == "rows" && schedule.kind == Kind::Walk)
    candidates = {1, 2, 4, 8, 16};
  else if (name == "rows")
    for (int64_t rows = 1; rows <= 16; ++rows)
      candidates.push_back(rows);
  else if (name == "cells" || name == "blocks")
    candidates = {1, 2, 4, 8, 16, 32, 64, 128};
  else if (name == "block")
    candidates = {64, 256, 1024, 4096, 16384};
  else if (name == "prefetch" && schedule.kind == Kind::Tiles)
    candidates = {0, 1, 2, kMaxPanelsAhead};
  else if (name == "depth")
    candidates = {0, 16, 32, 64, 128, 256, 512, 1024};
  else if (name == "cell")
    candidates = {0, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
  else
    candidates = {0, 1};
  int64_t own = schedule.parameter(name);
  if (!llvm::is_contained(candidates, own))
    candidates.push_back(own);
  llvm::sort(candidates);
  SmallVector<int64_t> legal;
  for (int64_t value : candidates) {
    CpuSchedule other = schedule;
    other.parameter(name) = value;
    // A kernel is formed anew for other columns.
    bool isPacked = name == "columns" && loops.form.packing.features > 0;
    std::string refused = isPacked ? TileScheduler(loops).refusalIfPacked(other) : refusalOf(other);
    if (refused.empty() && !llvm::is_contained(legal, value))
      legal.push_back(value);
  }
  return legal;
}

bool KernelScheduler::hasChoice() const {
  return walk || (loops.contents.rootGeneric() && !isEmpty());
}

std::vector<CpuSchedule> KernelScheduler::otherKinds() const {
  std::vector<CpuSchedule> result;
  for (Kind kind : {Kind::Plain, Kind::Points, Kind::Rows})
    if (CpuSchedule other = propose(kind); kind != naturalKind() && refusalOf(other).empty())
      result.push_back(other);
  return result;
}

//===------------------------------------------------------------------------===//
// The schedule that should be fastest
//===------------------------------------------------------------------------===//

CpuSchedule KernelScheduler::propose() const { return propose(naturalKind()); }

CpuSchedule KernelScheduler::propose(Kind kind) const {
  CpuSchedule schedule;
  schedule.kind = kind;
  switch (kind) {
  case Kind::Plain:
    schedule.cells = kWantedCells;
    return schedule;
  case Kind::Points:
    return loops.ranges.empty() ? schedule : proposePoints();
  case Kind::Transposed:
    return schedule;
  case Kind::Rows:
    if (!loops.contents.reductions.empty() && naturalKind() == Kind::Rows)
      schedule.vector = proposeRowVector();
    return schedule;
  case Kind::Tiles:
    if (loops.contents.reductions.size() == 1 && TileScheduler(loops).applies())
      return TileScheduler(loops).propose();
    return schedule;
  case Kind::Walk:
    schedule.rows = rowsOfWalk(loops.machine.vectorRegisters);
    schedule.prefetch = 1;
    schedule.blocks = loops.form.walk.blocks;
    schedule.block = loops.form.walk.block;
    return schedule;
  }
  llvm_unreachable("no such schedule");
}

CpuSchedule KernelScheduler::proposePoints() const {
  CpuSchedule schedule;
  schedule.kind = Kind::Points;
  int64_t size = loops.ranges.back();
  if (ShapedType::isDynamic(size)) {
    schedule.vector = 2 * loops.lanes();
    schedule.cell = kElementwiseCell;
    return schedule;
  }
  // Elements that are not adjacent are loaded one by one. LLVM looks for seconds for what a hundred
  // of them might have in common.
  constexpr int64_t kMaxPicked = 32;
  bool picks = llvm::any_of(loops.contents.ops, [](Operation *op) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    return generic && readsAcross(generic);
  });
  int64_t lanes = loops.lanes();
  schedule.vector = vectorLength(size);
  while (picks && schedule.vector > kMaxPicked && schedule.vector % 2 == 0)
    schedule.vector /= 2;
  // From as many lines as that, which are used up one after the other.
  if (dimContiguousInOperands(loops) && schedule.vector > lanes)
    schedule.vector = lanes;
  int64_t vector = schedule.vector;
  // A long dimension is cut as well, evenly if it can be.
  if (size > 2 * kElementwiseCell) {
    for (int64_t candidate = kElementwiseCell * 2;
         candidate >= kElementwiseCell / 4 && !schedule.cell; candidate -= vector)
      if (size % candidate == 0 && candidate % vector == 0)
        schedule.cell = candidate;
    if (size % vector != 0 || schedule.cell == 0)
      schedule.cell = kElementwiseCell;
  }
  return schedule;
}

/// Vectors along rows. Those of an open or of several lengths leave something over, which smaller
/// vectors share.
int64_t KernelScheduler::proposeRowVector() const {
  if (int64_t length = rowLength(loops))
    return vectorLength(length);
  int64_t vector = 2 * loops.lanes();
  for (linalg::GenericOp op : loops.contents.reductions)
    if (int64_t length = op.getStaticLoopRanges().back(); !ShapedType::isDynamic(length))
      vector = std::min(vector, vectorLength(length));
  return vector;
}

/// Whether the kernel converts integers of less than 32 bits: LLVM converts vectors of them element
/// by element if their length is not a power of two.
bool KernelScheduler::hasNarrowIntegers() const {
  return llvm::any_of(loops.contents.ops, [](Operation *op) {
    return llvm::any_of(op->getOperandTypes(), [](Type type) {
      Type element = getElementTypeOrSelf(type);
      return element.isInteger() && element.getIntOrFloatBitWidth() < 32;
    });
  });
}

/// A vector length for a dimension of known size.
int64_t KernelScheduler::vectorLength(int64_t size) const {
  int64_t lanes = loops.lanes();
  constexpr int64_t kWorthwhile = 4;
  int64_t powerOfTwo = size & -size; // that divides it
  if (size <= 4 * lanes && powerOfTwo < size && powerOfTwo >= kWorthwhile && hasNarrowIntegers())
    return powerOfTwo;
  if (size <= 4 * lanes)
    return std::max<int64_t>(size, 1);
  for (int64_t multiple : {4, 2, 1})
    if (size % (multiple * lanes) == 0)
      return multiple * lanes;
  return 2 * lanes;
}

Recipe KernelScheduler::write(const CpuSchedule &schedule) const {
  if (walk || !loops.contents.root || isEmpty())
    return {};
  return writeSteps(loops, schedule);
}

} // namespace headrace
