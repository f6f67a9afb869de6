#include "target/cpu/recipe/ScheduleSteps.h"

#include "target/cpu/recipe/KernelShape.h"
#include "target/cpu/recipe/ScheduleTiles.h"
#include "target/cpu/recipe/StepWriter.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using utils::IteratorType;
using Kind = headrace::CpuSchedule::Kind;

namespace headrace {
namespace {

class ScheduleWriter {
public:
  ScheduleWriter(const KernelLoops &loops, const CpuSchedule &schedule)
      : loops(loops), schedule(schedule), root(loops.contents.root) {}

  Recipe run() {
    if (!loops.contents.rootGeneric())
      padding();
    else if (schedule.kind == Kind::Plain)
      plain();
    else if (schedule.kind == Kind::Points)
      points();
    else if (schedule.kind == Kind::Transposed)
      transposed();
    else if (schedule.kind == Kind::Rows)
      rows();
    else
      TileScheduler(loops).write(schedule, steps);
    return steps.take();
  }

private:
  /// Padding is cut into rows; joins and the like run as one piece.
  void padding() {
    if (auto pad = dyn_cast_or_null<tensor::PadOp>(root))
      for (int64_t dim = 0; dim + 2 < pad.getResultType().getRank(); ++dim)
        steps.parallel(pad, axisName(pad, dim));
  }

  /// Plain loops, with a grid around them.
  void plain() {
    int64_t cells = 1;
    std::string last;
    for (size_t dim = 0; dim + 1 < loops.ranges.size() && cells < schedule.cells; ++dim) {
      if (loops.iterators[dim] != IteratorType::parallel)
        break;
      last = axisName(root, dim);
      steps.parallel(root, last);
      cells *= loops.hints[dim];
    }
    computeInside(last);
  }

  /// A map of an operand in another order, which stays in no nearest cache, runs in the operand's
  /// order: a few results along the last dimension, or if that is short, along the one that is
  /// contiguous in the operand. Every line of the operand is used up before the next.
  bool pointsInOrderOfOperand() {
    std::optional<int64_t> across = dimContiguousInOperands(loops);
    if (!across || schedule.cell || !isBeyondNearestCache())
      return false;
    int64_t last = loops.ranges.size() - 1, lanes = loops.lanes();
    bool isShort = loops.ranges[last] < lanes;
    int64_t cut = isShort ? *across : last;
    if (loops.ranges[cut] < lanes)
      return false;
    int64_t part = isShort ? lanes : schedule.vector;
    if (part >= loops.ranges[cut])
      return false;
    std::string axis = axisName(root, cut);
    SmallVector<std::string> order{axis + ".o"};
    for (int64_t dim : orderInOperand(*across))
      if (dim != cut)
        order.push_back(axisName(root, dim));
    order.push_back(axis + ".v");
    steps.split(root, axis, part, axis + ".o", axis + ".v");
    steps.reorder(root, order);
    steps.parallel(root, order.front());
    if (!isShort)
      steps.registerTile(root, {order.back()});
    return true;
  }

  bool isBeyondNearestCache() const {
    int64_t elements = 1;
    for (int64_t range : loops.ranges)
      elements *= ShapedType::isDynamic(range) ? 1 : range;
    return elements * loops.elementBytes > loops.machine.cacheWays * loops.machine.cacheWayBytes;
  }

  /// The dimensions as an operand has them that is contiguous along this one.
  SmallVector<int64_t> orderInOperand(int64_t contiguous) const {
    SmallVector<int64_t> order;
    for (AffineMap map : loops.contents.rootGeneric().getIndexingMapsArray())
      if (map.isPermutation() && map.getDimPosition(map.getNumResults() - 1) == contiguous) {
        for (unsigned i = 0; i < map.getNumResults(); ++i)
          order.push_back(map.getDimPosition(i));
        break;
      }
    return order;
  }

  /// One map: vectors along its last dimension.
  void points() {
    if (pointsInOrderOfOperand())
      return;
    int64_t last = loops.ranges.size() - 1, cell = schedule.cell;
    std::string axis = axisName(root, last), inside = axis;
    for (int64_t dim = 0; dim < last; ++dim)
      steps.parallel(root, axisName(root, dim));
    if (cell) {
      steps.split(root, axis, cell, axis + ".g", axis + ".c");
      steps.parallel(root, axis + ".g");
      inside = axis + ".c";
    }
    steps.vectors(root, inside, schedule.vector, axis, cell ? cell : loops.ranges[last]);
  }

  /// Operands are contiguous along another dimension than the last and read in vectors along it,
  /// which a square tile in registers transposes.
  void transposed() {
    int64_t last = loops.ranges.size() - 1, across = *dimReadAcross(loops), lanes = loops.lanes();
    SmallVector<std::string> grid, outer, tile;
    for (int64_t dim = 0; dim < last; ++dim)
      if (dim != across)
        grid.push_back(axisName(root, dim));
    for (int64_t dim : {across, last}) {
      std::string axis = axisName(root, dim);
      if (loops.ranges[dim] != lanes) {
        steps.split(root, axis, lanes, axis + ".o", axis + ".t");
        (dim == across ? grid : outer).push_back(axis + ".o");
      }
      tile.push_back(loops.ranges[dim] != lanes ? axis + ".t" : axis);
    }
    steps.reorder(root, llvm::to_vector(llvm::concat<std::string>(grid, outer, tile)));
    for (const std::string &axis : grid)
      steps.parallel(root, axis);
    steps.registerTile(root, tile);
  }

  /// Maps and reductions over rows that stay in cache.
  void rows() {
    SmallVector<int64_t> alongRow = rowDims(loops);
    SmallVector<std::string> grid, rest;
    for (int64_t dim = 0; dim < static_cast<int64_t>(loops.ranges.size()); ++dim)
      (llvm::is_contained(alongRow, dim) ? rest : grid).push_back(axisName(root, dim));
    bool endsInRow = !alongRow.empty() && alongRow.front() == static_cast<int64_t>(grid.size());
    if (!rest.empty() && !endsInRow)
      steps.reorder(root, llvm::to_vector(llvm::concat<std::string>(grid, rest)));
    for (const std::string &axis : grid)
      steps.parallel(root, axis);
    computeInside(grid.empty() ? "" : grid.back());
    if (schedule.vector == 0)
      return;
    for (Operation *op : loops.contents.ops)
      // Values of one element per row need no loop.
      if (auto generic = cast<linalg::GenericOp>(op);
          generic.getNumReductionLoops() > 0 ||
          (generic.getNumLoops() > grid.size() && (op != root || endsInRow))) {
        std::string axis = axisName(op, generic.getNumLoops() - 1);
        steps.vectors(op, axis, schedule.vector, axis, generic.getStaticLoopRanges().back());
      }
  }

  /// All other stages are computed inside that loop of the root, consumers first.
  void computeInside(const std::string &loop) {
    for (Operation *op : llvm::reverse(loops.contents.ops))
      if (op != root)
        steps.computeAt(op, root, loop);
  }

  const KernelLoops &loops;
  const CpuSchedule &schedule;
  Operation *root;
  StepWriter steps;
};

} // namespace

Recipe writeSteps(const KernelLoops &loops, const CpuSchedule &schedule) {
  return ScheduleWriter(loops, schedule).run();
}

} // namespace headrace
