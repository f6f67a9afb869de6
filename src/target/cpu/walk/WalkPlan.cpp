#include "target/cpu/walk/WalkPlan.h"

#include "dialect/Hr.h"
#include "transform/recipe/KernelModel.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace headrace {
namespace {

class WalkPlanner {
public:
  explicit WalkPlanner(scf::ForallOp loop) { plan.loop = loop; }

  FailureOr<WalkPlan> run() {
    if (!collectOperators() || !nameAxes() || !placeResults())
      return failure();
    formStages();
    return std::move(plan);
  }

private:
  static bool refuse(Operation *op, const char *why) {
    op->emitError(why);
    return false;
  }

  bool collectOperators() {
    for (Operation &op : plan.loop.getBody()->without_terminator()) {
      if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
        if (!addRows(slice))
          return false;
      } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
        if (!addOperator(generic))
          return false;
      } else if (!isa<linalg::FillOp, tensor::EmptyOp, hr::SizeOp>(op) &&
                 !isa<arith::ArithDialect, affine::AffineDialect>(op.getDialect())) {
        return refuse(&op, "cannot be computed a few rows at a time");
      }
    }
    return plan.firstRow || refuse(plan.loop, "reads no rows");
  }

  /// The memory of an operand: an argument's, or the part of it that the kernel reads.
  Value memoryOf(Value tensor) {
    if (auto whole = tensor.getDefiningOp<bufferization::ToTensorOp>())
      return whole.getMemref();
    auto part = tensor.getDefiningOp<tensor::ExtractSliceOp>();
    Value source = part ? memoryOf(part.getSource()) : Value();
    if (!source)
      return {};
    OpBuilder b(plan.loop);
    auto type = memref::SubViewOp::inferRankReducedResultType(
        part.getType().getShape(), cast<MemRefType>(source.getType()), part.getMixedOffsets(),
        part.getMixedSizes(), part.getMixedStrides());
    return b.create<memref::SubViewOp>(part.getLoc(), cast<MemRefType>(type), source,
                                       part.getMixedOffsets(), part.getMixedSizes(),
                                       part.getMixedStrides());
  }

  bool addRows(tensor::ExtractSliceOp slice) {
    Value source = memoryOf(slice.getSource());
    auto first = dyn_cast<Value>(slice.getMixedOffsets().front());
    if (!source || !first || !slice.hasUnitStride() || slice.getDroppedDims().any())
      return refuse(slice, "expected a block of rows of an operand");
    plan.firstRow = first;
    OpFoldResult count = slice.getMixedSizes().front();
    if (auto value = dyn_cast<Value>(count)) {
      plan.rowCount = value;
    } else {
      OpBuilder b(slice);
      plan.rowCount = b.create<arith::ConstantIndexOp>(slice.getLoc(), *getConstantIntValue(count));
    }
    plan.places[slice] = {WalkPlace::Kind::Rows, source};
    return true;
  }

  bool addOperator(linalg::GenericOp op) {
    // Fusion keeps a result without users if only it tells a size.
    auto used = llvm::make_filter_range(op->getResults(), [](Value v) { return !v.use_empty(); });
    if (!llvm::hasSingleElement(used))
      return refuse(op, "expected one result");
    for (Operation &inner : op.getBody()->without_terminator())
      if (!inner.hasTrait<OpTrait::Elementwise>() && !isa<hr::SizeOp, arith::ConstantOp>(inner))
        return refuse(&inner, "expected scalar functions that have a vector form");
    for (AffineMap map : op.getIndexingMapsArray())
      if (!map.isProjectedPermutation())
        return refuse(op, "expected every operand to be read along plain dimensions");
    WalkOp entry{op, *used.begin(), {}, {}};
    unsigned position = entry.result.getResultNumber();
    for (auto [argument, init] : llvm::zip(op.getRegionOutputArgs(), op.getDpsInits())) {
      auto fill = init.getDefiningOp<linalg::FillOp>();
      if (!fill && !argument.use_empty())
        return refuse(op, "expected a reduction to start from a constant");
      entry.inits.push_back(fill ? fill.getInputs().front() : Value());
    }
    if (op.getNumReductionLoops() > 0) {
      SmallVector<Operation *> combiners;
      if (!entry.inits[position] ||
          !matchReduction(op.getRegionOutputArgs(), position, combiners) || combiners.size() != 1)
        return refuse(op, "expected a reduction by one operation");
      entry.combiner = combiners.front();
    }
    for (Value operand : op.getDpsInputs()) {
      if (plan.places.contains(operand) || operand.getDefiningOp<linalg::GenericOp>())
        continue;
      Value memory = memoryOf(operand);
      if (!memory)
        return refuse(op, "expected an operand in memory or computed by the loop");
      plan.places[operand] = {WalkPlace::Kind::Whole, memory};
    }
    plan.ops.push_back(entry);
    return true;
  }

  /// Loops that index the same dimension of a value walk the same axis.
  bool nameAxes() {
    llvm::EquivalenceClasses<int> classes;
    int next = 0;
    llvm::DenseMap<Value, SmallVector<int>> dims;
    auto dimsOf = [&](Value value) -> SmallVector<int> & {
      SmallVector<int> &entry = dims[value];
      while (static_cast<int64_t>(entry.size()) < cast<RankedTensorType>(value.getType()).getRank())
        entry.push_back(next++);
      return entry;
    };
    for (WalkOp &entry : plan.ops) {
      for (unsigned i = 0; i < entry.op.getNumLoops(); ++i)
        entry.axes.push_back(next++);
      auto unite = [&](Value value, AffineMap map) {
        for (auto [dim, expr] : llvm::zip_equal(dimsOf(value), map.getResults()))
          classes.unionSets(entry.axes[cast<AffineDimExpr>(expr).getPosition()], dim);
      };
      for (OpOperand *operand : entry.op.getDpsInputOperands())
        unite(operand->get(), entry.op.getMatchingIndexingMap(operand));
      unite(entry.result, entry.resultMap());
    }
    auto leader = [&](int node) { return classes.getOrInsertLeaderValue(node); };
    for (auto &[value, place] : plan.places)
      if (place.kind == WalkPlace::Kind::Rows && dims.contains(value))
        plan.rowAxis = leader(dims[value].front());
    for (WalkOp &entry : plan.ops) {
      llvm::SmallDenseSet<int> distinct;
      for (int &axis : entry.axes) {
        axis = leader(axis);
        distinct.insert(axis);
      }
      if (distinct.size() != entry.axes.size() || !distinct.contains(plan.rowAxis))
        return refuse(entry.op, "expected one dimension along the rows");
      entry.accumulates = entry.reduces(plan.rowAxis);
      for (OpOperand &operand : entry.op->getOpOperands()) {
        Value sized = operand.get();
        if (auto fill = sized.getDefiningOp<linalg::FillOp>())
          sized = fill.getOutputs().front();
        if (!plan.places.contains(sized) && !sized.getDefiningOp<tensor::EmptyOp>())
          continue;
        AffineMap map = entry.op.getMatchingIndexingMap(&operand);
        for (auto [i, expr] : llvm::enumerate(map.getResults()))
          plan.sizes.try_emplace(entry.axes[cast<AffineDimExpr>(expr).getPosition()],
                                 std::make_pair(sized, static_cast<int64_t>(i)));
      }
    }
    for (WalkOp &entry : plan.ops)
      for (int axis : entry.axes)
        if (!plan.sizes.contains(axis))
          return refuse(entry.op, "expected an operand along every dimension");
    return true;
  }

  /// The results that the kernel stores are written there, others to a temporary.
  bool placeResults() {
    for (WalkOp &entry : plan.ops)
      plan.places[entry.result] = {WalkPlace::Kind::Tile, {}};
    for (Operation &op : plan.loop.getTerminator().getYieldingOps()) {
      auto insert = cast<tensor::ParallelInsertSliceOp>(op);
      Value source = insert.getSource();
      if (!plan.places.contains(source) || plan.places[source].memory)
        return refuse(insert, "expected each result to be stored once");
      OpResult whole = plan.loop.getTiedOpResult(
          plan.loop.getTiedOpOperand(cast<BlockArgument>(insert.getDest())));
      auto store = whole.hasOneUse()
                       ? dyn_cast<bufferization::MaterializeInDestinationOp>(*whole.user_begin())
                       : nullptr;
      auto *entry = llvm::find_if(plan.ops, [&](WalkOp &o) { return o.result == source; });
      if (!store || entry == plan.ops.end())
        return refuse(insert, "expected a computed value and its memory");
      plan.places[source] = {entry->accumulates ? WalkPlace::Kind::Block : WalkPlace::Kind::Rows,
                             store.getDest()};
    }
    for (WalkOp &entry : plan.ops)
      if (entry.accumulates && !plan.places[entry.result].memory)
        return refuse(entry.op, "reduces all rows for another operator of the same loop");
    return true;
  }

  /// Vectors lie along a dimension in which every value is contiguous or constant.
  int chooseVectorAxis(WalkOp &entry) {
    if (entry.axes.size() == 1)
      return plan.rowAxis;
    SmallVector<int> candidates;
    AffineMap resultMap = entry.resultMap();
    for (AffineExpr expr : llvm::reverse(resultMap.getResults()))
      candidates.push_back(entry.axes[cast<AffineDimExpr>(expr).getPosition()]);
    for (int axis : llvm::reverse(entry.axes))
      if (!llvm::is_contained(candidates, axis))
        candidates.push_back(axis);
    for (int axis : candidates)
      if (axis != plan.rowAxis && isContiguous(entry, axis))
        return axis;
    return -1;
  }

  static bool isContiguous(WalkOp &entry, int axis) {
    AffineExpr dim =
        getAffineDimExpr(llvm::find(entry.axes, axis) - entry.axes.begin(), entry.op.getContext());
    return llvm::all_of(entry.op.getIndexingMapsArray(), [&](AffineMap map) {
      auto found = llvm::find(map.getResults(), dim);
      return found == map.getResults().end() || found + 1 == map.getResults().end();
    });
  }

  void formStages() {
    for (auto [index, entry] : llvm::enumerate(plan.ops)) {
      int vectorAxis = chooseVectorAxis(entry);
      SmallVector<int> axes;
      for (int axis : entry.axes)
        if (axis != plan.rowAxis)
          axes.push_back(axis);
      bool joins = !plan.stages.empty() && plan.stages.back().vectorAxis == vectorAxis &&
                   vectorAxis >= 0 && axes.size() <= 1 && plan.stages.back().axes == axes &&
                   !readsReductionOf(entry, plan.stages.back(), vectorAxis);
      if (!joins)
        plan.stages.push_back({{}, axes, vectorAxis});
      plan.stages.back().ops.push_back(index);
      entry.stage = static_cast<int>(plan.stages.size()) - 1;
    }
  }

  /// Whether it reads a reduction along the loop, whose result is there only after the loop.
  bool readsReductionOf(WalkOp &entry, const WalkStage &stage, int axis) {
    return llvm::any_of(stage.ops, [&](size_t index) {
      WalkOp &other = plan.ops[index];
      return other.reduces(axis) && llvm::is_contained(entry.op.getDpsInputs(), other.result);
    });
  }

  WalkPlan plan;
};

} // namespace

bool WalkPlan::isKept(WalkOp &op) const {
  if (places.find(op.result)->second.memory)
    return true;
  return llvm::any_of(op.result.getUsers(), [&](Operation *user) {
    return llvm::any_of(
        ops, [&](const WalkOp &other) { return other.op == user && other.stage != op.stage; });
  });
}

bool WalkPlan::isFirstRead(Value value, const WalkOp &op) const {
  return value.getDefiningOp<tensor::ExtractSliceOp>() &&
         llvm::none_of(ops, [&](const WalkOp &other) {
           linalg::GenericOp reader = other.op;
           return other.stage < op.stage && llvm::is_contained(reader->getOperands(), value);
         });
}

std::optional<CpuSchedule> walkScheduleOf(func::FuncOp kernel) {
  auto module = kernel->getParentOfType<ModuleOp>();
  auto text = module ? module->getAttrOfType<StringAttr>(kRecipeAttr) : nullptr;
  if (!text || !beginsWithSchedule(text, CpuSchedule::kindNames()))
    return std::nullopt;
  CpuSchedule schedule = CpuSchedule::of(CpuSchedule::parse(text.getValue()).front());
  return schedule.kind == CpuSchedule::Kind::Walk ? std::optional(schedule) : std::nullopt;
}

scf::ForallOp findWalk(func::FuncOp kernel) {
  auto loops = kernel.getOps<scf::ForallOp>();
  bool linalgOutside =
      llvm::any_of(kernel.getOps(), [](Operation &op) { return isa<linalg::LinalgOp>(op); });
  if (!llvm::hasSingleElement(loops) || linalgOutside)
    return {};
  return *loops.begin();
}

FailureOr<WalkPlan> WalkPlan::of(func::FuncOp kernel) {
  scf::ForallOp loop = findWalk(kernel);
  if (!loop)
    return kernel.emitError("expected one loop over blocks of rows");
  return WalkPlanner(loop).run();
}

} // namespace headrace
