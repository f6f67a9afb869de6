// Every stage computes its scalar function at all its points; what differs is how fast its loops
// do that, and what the loops around a product read again:
//
//   conv: d0.g 56 || d2 2, d1.o 8, k 576 | d1.t 14, d3 32
//
// A register tile has 14 rows of two vectors. The weights are read again for each of the 56 cells,
// from the cache that holds what a cell touches.
#include "target/cpu/cost/KernelWork.h"

#include "analysis/OperatorWork.h"
#include "runtime/system/Error.h"
#include "target/cpu/cost/MaskedPoints.h"
#include "target/cpu/loops/PlainLoops.h"
#include "target/cpu/recipe/KernelShape.h"
#include "target/cpu/recipe/ScheduleKernel.h"
#include "target/cpu/walk/WalkPlan.h"
#include "transform/kernels/KernelFunction.h"
#include "transform/kernels/KernelShapes.h"
#include "transform/recipe/KernelModel.h"

#include "llvm/ADT/ScopeExit.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {
namespace {

/// A loop around a product's register tile: how often it runs, and which of the product's axes it
/// walks.
struct OuterLoop {
  double trips = 1;
  SmallVector<int> axes;
};

class KernelWork {
public:
  KernelWork(ModuleOp module, ArrayRef<int64_t> symbols, double operations, const Machine &machine)
      : module(module), symbols(symbols), operations(operations), machine(machine) {}

  Work run() {
    func::FuncOp kernel = kernelFunction(module);
    if (!kernel)
      return {};
    if (auto walk = findWalk(kernel)) {
      addWalk(kernel, walk);
      return std::move(work);
    }
    KernelContents contents = KernelContents::of(kernel);
    model = scheduled(kernel, contents);
    root = contents.rootGeneric();
    kernel.walk([&](linalg::GenericOp op) { addStage(op); });
    auto extentOf = [&](AffineExpr size) { return valueOf(size); };
    addCopies(work, kernel, extentOf);
    if (model)
      for (const Stage &stage : model->getStages())
        if (stage.isOutput)
          for (size_t i = 0; i < stage.parallelLoops(); ++i)
            work.parts *= static_cast<double>(stage.loops[i].extent().value_or(1));
    // Addresses of a cell are computed when it begins, most of them while others are used.
    constexpr double operationsOfCell = 2;
    if (work.parts > 1)
      add(OperationKind::Scalar, DType::F32, operationsOfCell * work.parts);
    return std::move(work);
  }

private:
  //===------------------------------------------------------------------------===//
  // Sizes
  //===------------------------------------------------------------------------===//

  double valueOf(AffineExpr size) const {
    try {
      return static_cast<double>(toDimExpr(size).evaluate({symbols.data(), symbols.size()}));
    } catch (const Error &) {
      return SizeHints::kDefault;
    }
  }

  /// The sizes of a stage's loops.
  SmallVector<double> rangesOf(linalg::GenericOp op) const {
    SmallVector<double> ranges;
    for (AffineExpr size : loopSizes(op))
      ranges.push_back(size ? valueOf(size) : static_cast<double>(SizeHints::kDefault));
    return ranges;
  }

  /// The loops of the kernel's recipe, with all sizes known.
  std::optional<LoopModel> scheduled(func::FuncOp kernel, const KernelContents &contents) const {
    std::vector<Stage> stages = modelOfKernel(kernel).getStages();
    for (Stage &stage : stages)
      for (Operation *op : contents.ops)
        if (auto generic = dyn_cast<linalg::GenericOp>(op); generic && stageOf(op) == stage.name)
          for (auto [axis, range] : llvm::zip(stage.axes, rangesOf(generic)))
            axis.extent = static_cast<int64_t>(range);
    LoopModel result(std::move(stages));
    try {
      if (auto recipe = module->getAttrOfType<StringAttr>(kRecipeAttr))
        result.apply(Recipe::parse(recipe.getValue()));
    } catch (const Error &) {
      return std::nullopt; // sizes that the recipe was not written for
    }
    return result;
  }

  //===------------------------------------------------------------------------===//
  // Stages
  //===------------------------------------------------------------------------===//

  void add(OperationKind kind, DType type, double operations, double efficiency = 1) {
    if (operations > 0)
      work.arithmetic.push_back({kind, type, operations, efficiency});
  }

  /// Values that are the same for a whole row are computed once for it.
  static ScalarOperations operationsOf(linalg::GenericOp op) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    unsigned last = op.getNumLoops() > 0 ? op.getNumLoops() - 1 : 0;
    return scalarOperations(op.getRegion(), [&](BlockArgument argument) {
      bool isSum = argument.getArgNumber() >= op.getNumDpsInputs() && op.getNumReductionLoops() > 0;
      return isSum || op.getNumLoops() == 0 || maps[argument.getArgNumber()].isFunctionOfDim(last);
    });
  }

  /// The larger of two is a comparison, a test for what is not a number, and a choice.
  static double extremaOf(linalg::GenericOp op) {
    constexpr double beyondOne = 2;
    double count = 0;
    op.getRegion().walk(
        [&](Operation *inner) { count += isa<arith::MaximumFOp, arith::MinimumFOp>(inner); });
    return beyondOne * count;
  }

  void addVectors(const ScalarOperations &each, DType type, double points) {
    add(OperationKind::Simple, type, points * each.simple);
    add(OperationKind::Division, type, points * each.division);
    add(OperationKind::Elementary, type, points * each.elementary);
  }

  void addStage(linalg::GenericOp op) {
    double trips = tripsAround(op, [&](AffineExpr size) { return valueOf(size); });
    double points = trips;
    for (double range : rangesOf(op))
      points *= range;
    addStepOperands(op, trips);
    DType type = rateType(op->getResult(0).getType());
    const Stage *stage = model ? model->find(stageOf(op).str()) : nullptr;
    bool inVectors = stage && stage->isVectorized();
    if (inVectors)
      points *= keptShare(op, rangesOf(op));
    bool inTiles = inVectors && stage->reduces() && !stage->isReduction(stage->loops.back());
    if (inTiles && addTiles(op, *stage, points, type))
      return;
    if (!inVectors)
      return addPlainLoops(work, op, points, type);
    ScalarOperations each = operationsOf(op);
    each.simple += extremaOf(op);
    // Data in another order goes through squares in registers, whose rows are exchanged level by
    // level: loads, stores and the exchanges, of each element. Vectors of one dimension load such
    // elements one by one.
    constexpr double ofTransposing = 6, ofLoading = 1;
    if (!stage->reduces() && readsAcross(op)) {
      auto isVector = [](const Loop &loop) { return loop.kind == Loop::Kind::Vectorized; };
      if (llvm::count_if(stage->loops, isVector) > 1)
        each.simple += ofTransposing;
      else
        add(OperationKind::Scalar, type, ofLoading * points);
    }
    addVectors(each, type, points);
  }

  /// Each step of a recurrence reads the same weights.
  void addStepOperands(linalg::GenericOp op, double trips) {
    if (trips <= 1)
      return;
    auto loop = op->getParentOfType<scf::ForOp>();
    double bytes = 0;
    for (Value operand : op.getDpsInputs())
      if (auto type = dyn_cast<RankedTensorType>(operand.getType());
          type && type.hasStaticShape() &&
          !loop->isAncestor(operand.getParentBlock()->getParentOp()))
        bytes += static_cast<double>(type.getNumElements() * type.getElementTypeBitWidth()) / 8;
    if (bytes > 0)
      work.move((trips - 1) * bytes, bytes);
  }

  /// A reduction in register tiles.
  bool addTiles(linalg::GenericOp op, const Stage &stage, double points, DType type) {
    const Stage &root = model->kernelRoot(stage.name);
    std::optional<int> position = model->positionInside(stage.name, root.name);
    size_t outer =
        &root == &stage ? stage.tileBegin() : static_cast<size_t>(position.value_or(-1) + 1);
    int feature = -1;
    for (const Loop &loop : stage.loops)
      if (loop.kind == Loop::Kind::Vectorized)
        feature = loop.parts.front().axis;
    double rows = 1, width = 1;
    for (size_t axis = 0; axis < stage.axes.size(); ++axis) {
      if (stage.axes[axis].reduction)
        continue;
      double range = insideOf(root, outer, static_cast<int>(axis), stage);
      (static_cast<int>(axis) == feature ? width : rows) *= range;
    }
    double lanes = static_cast<double>(machine.lanes(static_cast<int64_t>(sizeOf(type))));
    double vectors = std::ceil(width / lanes);
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    bool isProduct = isContraction(op) && !maps[0].isFunctionOfDim(feature);
    if (isProduct)
      add(OperationKind::Product, productType(op->getOperand(0), op->getOperand(1)), 2 * points,
          RegisterTile{rows, width, depthOf(stage), lanes, unitLanes(type)}.efficiency());
    else if (isContraction(op))
      add(OperationKind::Window, type, 2 * points, std::max(width / (vectors * lanes), 1 / lanes));
    else
      add(OperationKind::Simple, type, (1 + extremaOf(op)) * points,
          std::max(width / (vectors * lanes), 1 / lanes));
    if (isContraction(op))
      addReuse(op, points, depthOf(stage));
    addReadAgain(op, stage, root, outer, sizeOf(type));
    return true;
  }

  double unitLanes(DType type) const {
    return machine.rates.unitBytes / static_cast<double>(sizeOf(type));
  }

  /// What bounds the product's movement, if its operands lie in memory and each of its results is
  /// stored, by itself or as what a function makes of it.
  void addReuse(linalg::GenericOp op, double points, double depth) {
    if (!llvm::all_of(op.getDpsInputs(), isInMemory) || !root)
      return;
    double stored = 1;
    for (auto [range, kind] : llvm::zip(rangesOf(root), root.getIteratorTypesArray()))
      stored *= kind == IteratorType::parallel ? range : 1;
    if ((op != root && root.getNumReductionLoops() > 0) || stored < points / depth)
      return;
    double positions = 1, smallest = 8;
    SmallVector<double> ranges = rangesOf(op);
    AffineMap image = op.getIndexingMapsArray()[0];
    for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
      AffineExpr self = getAffineDimExpr(dim, op.getContext());
      if (kind == IteratorType::reduction && !llvm::is_contained(image.getResults(), self))
        positions *= ranges[dim];
    }
    for (Value operand : op->getOperands())
      smallest =
          std::min<double>(smallest, static_cast<double>(sizeOf(rateType(operand.getType()))));
    work.reuse.push_back({points, positions, smallest});
  }

  static bool isInMemory(Value value) {
    while (auto slice = value.getDefiningOp<tensor::ExtractSliceOp>())
      value = slice.getSource();
    return isa<BlockArgument>(value) || value.getDefiningOp<bufferization::ToTensorOp>();
  }

  static double depthOf(const Stage &stage) {
    double depth = 1;
    for (const StageAxis &axis : stage.axes)
      depth *= axis.reduction ? static_cast<double>(axis.extent.value_or(1)) : 1;
    return depth;
  }

  /// How many points of an axis are walked inside the first `outer` loops of the root.
  static double insideOf(const Stage &root, size_t outer, int axis, const Stage &stage) {
    double range = static_cast<double>(stage.axes[axis].extent.value_or(1));
    if (stage.axes[axis].reduction && &root != &stage)
      return range;
    for (size_t i = 0; i < std::min(outer, root.loops.size()); ++i)
      for (const LoopPart &part : root.loops[i].parts)
        if (part.axis == axis)
          range = std::min(range, static_cast<double>(part.step));
    return range;
  }

  /// The data that loops around a product touch again, after it has left the caches nearer than
  /// the one that holds it.
  void addReadAgain(linalg::GenericOp op, const Stage &stage, const Stage &root, size_t outer,
                    double elementBytes) {
    SmallVector<OuterLoop> loops;
    for (size_t i = 0; i < std::min(outer, root.loops.size()); ++i) {
      OuterLoop &loop = loops.emplace_back();
      for (const LoopPart &part : root.loops[i].parts)
        loop.axes.push_back(part.axis);
      loop.trips = static_cast<double>(root.loops[i].extent().value_or(1));
    }
    auto bytesInside = [&](const StageRead &read, size_t depth) {
      double bytes = elementBytes;
      for (const ReadDim &dim : read.dims) {
        double extent = 1;
        for (auto [axis, factor] : dim.terms)
          extent += static_cast<double>(factor) * (insideOf(root, depth, axis, stage) - 1);
        bytes *= dim.extent ? std::min(extent, static_cast<double>(*dim.extent)) : extent;
      }
      return bytes;
    };
    auto touched = [&](size_t depth) {
      double bytes = 0;
      for (const StageRead &read : stage.reads)
        bytes += bytesInside(read, depth);
      return bytes;
    };
    double whole = touched(0);
    // Without prefetching, the beginning of each panel is waited for.
    constexpr double waited = 0.3;
    for (const StageRead &read : stage.reads)
      if (auto ahead = stage.prefetches.find(read.source);
          ahead != stage.prefetches.end() && ahead->second == 0)
        work.streams.push_back({waited * bytesInside(read, 0), whole, -1});
    // From the core's own cache into the nearest, and from beyond into the core's own.
    for (double cache : {machine.rates.nearCacheBytes, machine.rates.coreCacheBytes}) {
      size_t depth = 0;
      while (depth < loops.size() && touched(depth) > cache)
        ++depth;
      bool isNear = cache == machine.rates.nearCacheBytes;
      double moved = 0;
      for (const StageRead &read : stage.reads) {
        double bytes = bytesInside(read, depth);
        bool reused = true; // by the next iterations of the loops directly around
        for (size_t i = depth; i-- > 0;) {
          bool walks = llvm::any_of(read.dims, [&](const ReadDim &dim) {
            return llvm::any_of(dim.terms, [&](auto term) {
              return llvm::is_contained(loops[i].axes, term.first);
            });
          });
          reused &= !walks;
          bytes *= reused ? 1 : loops[i].trips;
        }
        moved += bytes;
      }
      double again = moved - whole;
      if (again > 0)
        work.streams.push_back(
            {again, isNear ? std::min(whole, machine.rates.coreCacheBytes) : whole, -1});
    }
  }

  /// Operations inside blocks of rows: how many points each has is not in its type, so the known
  /// sum is shared among them.
  void addWalk(func::FuncOp kernel, scf::ForallOp walk) {
    for (OpFoldResult count : walk.getMixedUpperBound())
      if (AffineExpr size = sizeExpr(count, kernel.getContext()))
        work.parts *= valueOf(size);
    double each = 0;
    SmallVector<linalg::GenericOp> ops;
    kernel.walk([&](linalg::GenericOp op) {
      ScalarOperations count = operationsOf(op);
      each += count.simple + count.division + count.elementary;
      ops.push_back(op);
    });
    for (linalg::GenericOp op : ops) {
      DType type = rateType(op->getResult(0).getType());
      double points = operations / std::max(each, 1.0);
      if (isContraction(op))
        add(OperationKind::Product, type, 2 * points, /*efficiency=*/0.8);
      else
        addVectors(operationsOf(op), type, points);
    }
  }

  ModuleOp module;
  ArrayRef<int64_t> symbols;
  double operations;
  const Machine &machine;
  std::optional<LoopModel> model;
  linalg::GenericOp root;
  Work work;
};

} // namespace

Work workOfCpuKernel(ModuleOp kernel, ArrayRef<int64_t> symbols, double operations,
                     const Machine &machine) {
  return KernelWork(kernel, symbols, operations, machine).run();
}

std::optional<Work> workOfCpuKernelUnder(ModuleOp kernel, const CpuSchedule &schedule,
                                         ArrayRef<int64_t> symbols, double operations,
                                         const Machine &machine) {
  func::FuncOp function = kernelFunction(kernel);
  if (!function || findWalk(function))
    return std::nullopt;
  KernelScheduler scheduler(function, machine);
  if (!scheduler.refusalOf(schedule).empty())
    return std::nullopt;
  Attribute own = kernel->getAttr(kRecipeAttr);
  auto restored = llvm::make_scope_exit([&] {
    if (own)
      kernel->setAttr(kRecipeAttr, own);
    else
      kernel->removeAttr(kRecipeAttr);
  });
  kernel->setAttr(kRecipeAttr,
                  StringAttr::get(kernel.getContext(), scheduler.write(schedule).text()));
  return workOfCpuKernel(kernel, symbols, operations, machine);
}

} // namespace headrace
