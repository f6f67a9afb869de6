// Level 3: a kernel that walks blocks of rows, as loops over vectors in memory.
//
// Before: t(X) * (w * (X * v)), a partial result per block
//   scf.forall (%b) in (64) shared_outs(%o) {
//     %x = tensor.extract_slice %X[%first, 0] [%rows, 100]
//     %q = linalg.generic ins(%x, %v) ; %p = linalg.generic ins(%w, %q)
//     %a = linalg.generic ins(%x, %p) ; tensor.parallel_insert_slice %a into %o[%b, 0] }
// After:
//   scf.forall (%b) in (64) {
//     scf.for %i = %first to ... step 8 {        // 8 rows of X, which stay in cache
//       scf.for %c = 0 to 96 step 8 iter_args(8 vectors) { vector.load ; math.fma }
//       ... 8 products with w ...
//       scf.for %c = 0 to 96 step 8 { vector.load %out[%b, %c] ; 8 x math.fma ; vector.store } }
//     ... the rows left over, one at a time ... }
//
// Every operator is computed on a few rows before the next rows are read; operators over the same
// points share their loops (stages of WalkPlan). Accumulators stay in registers, one vector per
// row, which also hides the latency of the additions. The order of all sums is fixed by the sizes
// alone.
#include "dialect/Hr.h"
#include "target/cpu/Passes.h"
#include "target/cpu/walk/WalkPoints.h"
#include "transform/recipe/KernelModel.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <thread>

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUWALKROWSPASS
#include "target/cpu/Passes.h.inc"

namespace {

class WalkEmitter : private WalkPoints {
public:
  WalkEmitter(func::FuncOp kernel, WalkPlan plan, int64_t tileRows, int64_t vectorBytes)
      : WalkPoints(std::move(plan), kernel.getLoc(), vectorBytes), kernel(kernel),
        tileRows(tileRows) {}

  void run() {
    auto emitBody = [&](OpBuilder &builder, Location, ValueRange ids) {
      b.setInsertionPoint(builder.getInsertionBlock(), builder.getInsertionPoint());
      emitBlock(ids.front());
      b.create<scf::InParallelOp>(loc);
    };
    b.create<scf::ForallOp>(loc, plan.loop.getMixedUpperBound(), ValueRange{}, std::nullopt,
                            emitBody);
    removeTensors();
  }

private:
  //===------------------------------------------------------------------------===//
  // Blocks, tiles, stages
  //===------------------------------------------------------------------------===//

  void emitBlock(Value id) {
    block = id;
    scalars.map(plan.loop.getInductionVars().front(), id);
    for (Operation &op : plan.loop.getBody()->without_terminator())
      if (isa<hr::SizeOp>(op) || isa<arith::ArithDialect, affine::AffineDialect>(op.getDialect()))
        b.clone(op, scalars);
    Value first = scalars.lookupOrDefault(plan.firstRow);
    Value count = scalars.lookupOrDefault(plan.rowCount);
    Value end = b.create<arith::AddIOp>(loc, first, count);
    for (WalkOp &op : plan.ops)
      if (op.accumulates)
        startAccumulator(op);
    if (plan.onlyRows()) {
      emitLine(first, end);
      return;
    }
    for (WalkOp &op : plan.ops)
      if (WalkPlace &place = plan.places[op.result]; !place.memory && plan.isKept(op))
        place.memory = makeTile(op);
    Value whole = wholeSteps(first, end, tileRows);
    forEach(first, whole, tileRows, {}, [&](Value row, ValueRange) {
      emitTile(row, tileRows);
      return SmallVector<Value>();
    });
    forEach(whole, end, 1, {}, [&](Value row, ValueRange) {
      emitTile(row, 1);
      return SmallVector<Value>();
    });
  }

  /// All operators lie along the rows' axis alone: one loop, several vectors at a time.
  void emitLine(Value first, Value end) {
    WalkStage &stage = plan.stages.front();
    int64_t lanes = lanesOf(stage);
    int64_t vectors = isHeavy(stage, 4) ? 1 : 4, step = lanes * vectors;
    auto rowsAt = [&](Value row, int64_t count) {
      SmallVector<WalkRow> rows;
      for (int64_t i = 0; i < count; ++i)
        rows.push_back({offset(row, i * lanes), {}});
      return rows;
    };
    Value whole = wholeSteps(first, end, step);
    SmallVector<Value> vectorState = forEach(
        first, whole, step, startOf(stage, vectors, lanes), [&](Value row, ValueRange state) {
          return emitPoint(stage, rowsAt(row, vectors), {}, lanes, state);
        });
    SmallVector<Value> scalarState =
        forEach(whole, end, 1, startOf(stage, 1, 0), [&](Value row, ValueRange state) {
          return emitPoint(stage, rowsAt(row, 1), {}, 0, state);
        });
    finish(stage, rowsAt(first, vectors), {},
           {{vectorState, static_cast<size_t>(vectors)}, {scalarState, 1}});
  }

  void emitTile(Value row, int64_t count) {
    aheadRows = count > 1 ? count : 0;
    for (WalkStage &stage : plan.stages) {
      if (stage.axes.empty()) {
        // One number per row: the tile's rows are one vector.
        SmallVector<WalkRow> rows{{row, constant(0)}};
        int64_t width = count > 1 ? count : 0;
        SmallVector<Value> state = emitPoint(stage, rows, {}, width, startOf(stage, 1, width));
        finish(stage, rows, {}, {{state, 1}});
        continue;
      }
      if (isHeavy(stage, count)) {
        forEach(constant(0), constant(count), 1, {}, [&](Value i, ValueRange) {
          emitLoops(stage, {{b.create<arith::AddIOp>(loc, row, i), i}});
          return SmallVector<Value>();
        });
        continue;
      }
      SmallVector<WalkRow> rows;
      for (int64_t i = 0; i < count; ++i)
        rows.push_back({offset(row, i), constant(i)});
      emitLoops(stage, rows);
    }
  }

  /// Loops over the stage's axes: what the results have outside, the reduced dimensions inside,
  /// carried in registers.
  void emitLoops(WalkStage &stage, ArrayRef<WalkRow> rows) {
    SmallVector<int> outer, inner;
    for (int axis : stage.axes)
      if (axis != stage.vectorAxis)
        (plan.ops[stage.ops.front()].reduces(axis) ? inner : outer).push_back(axis);
    bool vectorInside = inner.empty() || plan.ops[stage.ops.front()].reduces(stage.vectorAxis);
    overAxes(outer, {}, {}, [&](Axes at, ValueRange) {
      if (vectorInside) {
        auto [whole, left] = splitOf(stage);
        SmallVector<Value> state = startOf(stage, rows.size(), whole);
        size_t wholeCount = state.size();
        llvm::append_range(state, startOf(stage, rows.size(), left));
        state = overAxes(inner, at, state, [&](Axes here, ValueRange carried) {
          return overVectors(stage, here, carried, wholeCount,
                             [&](Axes point, int64_t width, ValueRange values) {
                               return emitPoint(stage, rows, point, width, values);
                             });
        });
        finish(stage, rows, at,
               {{SmallVector<Value>(ArrayRef(state).take_front(wholeCount)), rows.size()},
                {SmallVector<Value>(ArrayRef(state).drop_front(wholeCount)), rows.size()}});
      } else {
        overVectors(stage, at, {}, 0, [&](Axes here, int64_t width, ValueRange) {
          SmallVector<Value> state = startOf(stage, rows.size(), width);
          state = overAxes(inner, here, state, [&](Axes point, ValueRange values) {
            return emitPoint(stage, rows, point, width, values);
          });
          finish(stage, rows, here, {{state, rows.size()}});
          return SmallVector<Value>();
        });
      }
      return SmallVector<Value>();
    });
  }

  //===------------------------------------------------------------------------===//
  // Loops
  //===------------------------------------------------------------------------===//

  using LoopBody = function_ref<SmallVector<Value>(Value, ValueRange)>;
  using AxesBody = function_ref<SmallVector<Value>(Axes, ValueRange)>;
  using VectorBody = function_ref<SmallVector<Value>(Axes, int64_t, ValueRange)>;

  SmallVector<Value> forEach(Value from, Value to, int64_t step, ValueRange state, LoopBody body) {
    auto loop = b.create<scf::ForOp>(loc, from, to, constant(step), state);
    OpBuilder::InsertionGuard guard(b);
    if (state.empty())
      b.setInsertionPoint(loop.getBody()->getTerminator());
    else
      b.setInsertionPointToEnd(loop.getBody());
    SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
    if (!state.empty())
      b.create<scf::YieldOp>(loc, next);
    return SmallVector<Value>(loop.getResults());
  }

  SmallVector<Value> overAxes(ArrayRef<int> axes, const Axes &at, ValueRange state, AxesBody body) {
    if (axes.empty())
      return body(at, state);
    return forEach(constant(0), sizeOf(axes.front()), 1, state, [&](Value i, ValueRange carried) {
      Axes here = at;
      here[axes.front()] = i;
      return overAxes(axes.drop_front(), here, carried, body);
    });
  }

  /// Whole vectors along the stage's vector axis, then what is left over: one narrower vector if
  /// the size is known, else an element at a time. The first `wholeCount` of the carried values
  /// belong to whole vectors, the others to what is left over.
  SmallVector<Value> overVectors(WalkStage &stage, const Axes &at, ValueRange state,
                                 size_t wholeCount, VectorBody body) {
    int axis = stage.vectorAxis;
    auto [whole, left] = splitOf(stage);
    auto bodyAt = [&](int64_t width) {
      return [&, width](Value i, ValueRange carried) {
        Axes here = at;
        if (axis >= 0)
          here[axis] = i;
        return body(here, width, carried);
      };
    };
    SmallVector<Value> result(state), rest(ArrayRef(result).drop_front(wholeCount));
    result.truncate(wholeCount);
    if (axis < 0) {
      llvm::append_range(result, body(at, 0, rest));
      return result;
    }
    Value size = sizeOf(axis), end = constant(0);
    if (whole != kNone) {
      end = wholeSteps(end, size, whole);
      result = forEach(constant(0), end, whole, result, bodyAt(whole));
    }
    if (left > 0)
      rest = bodyAt(left)(end, rest);
    else if (left == 0)
      rest = forEach(end, size, 1, rest, bodyAt(0));
    llvm::append_range(result, rest);
    return result;
  }

  /// The length of whole vectors along the stage's axis and of the remainder: kNone without vectors
  /// along it, 0 if the length is known only at run time.
  std::pair<int64_t, int64_t> splitOf(WalkStage &stage) {
    if (stage.vectorAxis < 0)
      return {kNone, 0};
    auto [tensor, dim] = plan.sizes[stage.vectorAxis];
    int64_t size = cast<RankedTensorType>(tensor.getType()).getDimSize(dim);
    int64_t lanes = lanesOf(stage);
    if (ShapedType::isDynamic(size))
      return {lanes, 0};
    int64_t left = size % lanes;
    return {size >= lanes ? lanes : kNone, left ? left : kNone};
  }

  /// Where the last whole step from `first` ends.
  Value wholeSteps(Value first, Value end, int64_t step) {
    Value count = b.create<arith::SubIOp>(loc, end, first);
    Value left = b.create<arith::RemUIOp>(loc, count, constant(step));
    return b.create<arith::SubIOp>(loc, end, left);
  }

  //===------------------------------------------------------------------------===//
  // Memory
  //===------------------------------------------------------------------------===//

  void startAccumulator(WalkOp &op) {
    SmallVector<int> axes;
    for (AffineExpr expr : op.resultMap().getResults())
      axes.push_back(op.axes[cast<AffineDimExpr>(expr).getPosition()]);
    Value start = initOf(op);
    overAxes(axes, {}, {}, [&](Axes at, ValueRange) {
      const WalkPlace &place = plan.places[op.result];
      b.create<memref::StoreOp>(loc, start, place.memory,
                                indicesOf(op, place, op.resultMap(), {}, at));
      return SmallVector<Value>();
    });
  }

  Value makeTile(WalkOp &op) {
    auto type = cast<RankedTensorType>(op.result.getType());
    SmallVector<int64_t> shape;
    SmallVector<Value> dynamic;
    for (AffineExpr expr : op.resultMap().getResults()) {
      int axis = op.axes[cast<AffineDimExpr>(expr).getPosition()];
      if (axis == plan.rowAxis) {
        shape.push_back(tileRows);
        continue;
      }
      auto [tensor, dim] = plan.sizes[axis];
      shape.push_back(cast<RankedTensorType>(tensor.getType()).getDimSize(dim));
      if (ShapedType::isDynamic(shape.back()))
        dynamic.push_back(sizeOf(axis));
    }
    return b.create<memref::AllocOp>(loc, MemRefType::get(shape, type.getElementType()), dynamic);
  }

  /// Whether the stage's body is too long to be written out for several rows.
  bool isHeavy(WalkStage &stage, int64_t rows) {
    constexpr int64_t kMaxOperations = 128, kOperationsOfFunction = 20;
    int64_t operations = 0;
    for (size_t index : stage.ops)
      for (Operation &op : plan.ops[index].op.getBody()->without_terminator())
        operations += isa<math::MathDialect>(op.getDialect()) ? kOperationsOfFunction : 1;
    return operations * rows > kMaxOperations;
  }

  void removeTensors() {
    SmallVector<Operation *> stores;
    for (Operation *user : plan.loop->getUsers())
      stores.push_back(user);
    for (Operation *store : stores)
      store->erase();
    plan.loop.erase();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(kernel.getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  func::FuncOp kernel;
  int64_t tileRows;
};

/// The rows at a time that the kernel's schedule says.
std::optional<int64_t> rowsOf(func::FuncOp kernel) {
  std::optional<CpuSchedule> schedule = walkScheduleOf(kernel);
  return schedule ? std::optional(schedule->rows) : std::nullopt;
}

struct CpuWalkRowsPass : impl::CpuWalkRowsPassBase<CpuWalkRowsPass> {
  using CpuWalkRowsPassBase::CpuWalkRowsPassBase;

  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!findWalk(kernel))
      return;
    auto module = kernel->getParentOfType<ModuleOp>();
    std::string reason;
    // Other kernels are compiled at the same time.
    ScopedDiagnosticHandler collect(&getContext(),
                                    [&, here = std::this_thread::get_id()](Diagnostic &diagnostic) {
                                      if (std::this_thread::get_id() != here)
                                        return failure();
                                      reason = diagnostic.str();
                                      return success();
                                    });
    FailureOr<WalkPlan> plan = WalkPlan::of(kernel);
    if (failed(plan)) {
      module->setAttr(kRecipeRefusedAttr,
                      StringAttr::get(&getContext(), "the rows cannot be blocked: " + reason));
      return;
    }
    noteScalars(module, *plan);
    WalkEmitter(kernel, std::move(*plan), rowsOf(kernel).value_or(rows), vectorBytes).run();
  }

private:
  /// Says which reductions have no dimension that vectors could be along.
  static void noteScalars(ModuleOp module, WalkPlan &plan) {
    std::string notes;
    for (WalkStage &stage : plan.stages)
      for (size_t index : stage.ops)
        if (linalg::GenericOp op = plan.ops[index].op;
            !stage.axes.empty() && stage.vectorAxis < 0 && op.getNumReductionLoops() > 0)
          notes += (notes.empty() ? "" : "; ") + ("stage '" + stageOf(op).str()) +
                   "' is computed element by element: its operand is contiguous along none of its "
                   "dimensions";
    if (!notes.empty())
      module->setAttr(kRecipeNotesAttr, StringAttr::get(module.getContext(), notes));
  }
};

} // namespace
} // namespace headrace
