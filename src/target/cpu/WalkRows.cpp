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
#include "target/cpu/WalkPlan.h"
#include "transform/recipe/KernelModel.h"

#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUWALKROWSPASS
#include "target/cpu/Passes.h.inc"

namespace {

/// A row of the tile that is being computed: its number in all of the rows and in the tile. Where
/// vectors lie along the rows, the first of a vector of them.
struct Row {
  Value absolute, inTile;
};

/// Carried accumulators: of each operator in turn, one per row.
struct Accumulators {
  SmallVector<Value> values;
  size_t rows = 1;
};

class WalkEmitter {
public:
  WalkEmitter(func::FuncOp kernel, WalkPlan plan, int64_t tileRows, int64_t vectorBytes)
      : kernel(kernel), plan(std::move(plan)), tileRows(tileRows), vectorBytes(vectorBytes),
        loc(kernel.getLoc()), b(this->plan.loop) {}

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
  using Axes = std::map<int, Value>;

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
      SmallVector<Row> rows;
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
    for (WalkStage &stage : plan.stages) {
      if (stage.axes.empty()) {
        // One number per row: the tile's rows are one vector.
        SmallVector<Row> rows{{row, constant(0)}};
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
      SmallVector<Row> rows;
      for (int64_t i = 0; i < count; ++i)
        rows.push_back({offset(row, i), constant(i)});
      emitLoops(stage, rows);
    }
  }

  /// Loops over the stage's axes: what the results have outside, what is combined away inside,
  /// carried in registers.
  void emitLoops(WalkStage &stage, ArrayRef<Row> rows) {
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

  /// Whole vectors along the stage's vector axis, then what is left over: one narrower vector where
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
      Axes here = at;
      llvm::append_range(result, body(here, 0, rest));
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

  /// The length of whole vectors along the stage's axis and of what is left over: kNone where there
  /// is nothing, 0 (no vector) where only the run tells.
  static constexpr int64_t kNone = -1;
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

  //===------------------------------------------------------------------------===//
  // Points
  //===------------------------------------------------------------------------===//

  /// Whether the operator's accumulator is carried in registers over the stage's loops.
  bool isCarried(WalkStage &stage, WalkOp &op) {
    return llvm::any_of(op.axes, [&](int axis) {
      return op.reduces(axis) && (axis != plan.rowAxis || stage.vectorAxis == plan.rowAxis);
    });
  }

  /// What carried accumulators start from, one per operator and row.
  SmallVector<Value> startOf(WalkStage &stage, int64_t rows, int64_t width) {
    SmallVector<Value> state;
    if (width == kNone)
      return state;
    for (size_t index : stage.ops) {
      WalkOp &op = plan.ops[index];
      if (!isCarried(stage, op))
        continue;
      Value start = initOf(op);
      if (width)
        start = splat(start, width);
      state.append(rows, start);
    }
    return state;
  }

  /// All operators of the stage at one place of every row; returns the accumulators.
  SmallVector<Value> emitPoint(WalkStage &stage, ArrayRef<Row> rows, const Axes &at, int64_t width,
                               ValueRange state) {
    computed.clear();
    loaded.clear();
    SmallVector<Value> next;
    size_t position = 0;
    for (size_t index : stage.ops) {
      WalkOp &op = plan.ops[index];
      if (isCarried(stage, op)) {
        for (size_t i = 0; i < rows.size(); ++i)
          next.push_back(emitBody(stage, op, rows, i, at, width, state[position++]));
      } else if (op.accumulates) {
        Value sum = read(stage, op, op.result, op.resultMap(), rows.front(), at, width);
        for (size_t i = 0; i < rows.size(); ++i)
          sum = emitBody(stage, op, rows, i, at, width, sum);
        write(stage, op, rows.front(), at, width, sum);
      } else {
        for (size_t i = 0; i < rows.size(); ++i) {
          Value value = emitBody(stage, op, rows, i, at, width, {});
          computed[{op.result, i}] = value;
          if (plan.isKept(op))
            write(stage, op, rows[i], at, width, value);
        }
      }
    }
    return next;
  }

  /// The scalar function of an operator on vectors; what is the same for a whole vector stays
  /// scalar.
  Value emitBody(WalkStage &stage, WalkOp &op, ArrayRef<Row> rows, size_t row, const Axes &at,
                 int64_t width, Value accumulator) {
    Block *body = op.op.getBody();
    IRMapping mapping;
    for (auto [operand, argument] : llvm::zip(op.op.getDpsInputOperands(), body->getArguments())) {
      Value value = computed.lookup({operand->get(), row});
      if (!value) {
        AffineMap map = op.op.getMatchingIndexingMap(operand);
        bool perRow = indexes(op, map, plan.rowAxis);
        Value &known = loaded[{operand->get(), perRow ? row : 0}];
        if (!known)
          known = read(stage, op, operand->get(), map, rows[perRow ? row : 0], at, width);
        value = known;
      }
      mapping.map(argument, value);
    }
    for (auto [argument, init] : llvm::zip(op.op.getRegionOutputArgs(), op.inits))
      if (init)
        mapping.map(argument, scalars.lookupOrDefault(init));
    if (accumulator)
      mapping.map(op.op.getRegionOutputArgs()[op.result.getResultNumber()], accumulator);
    for (Operation &inner : body->without_terminator()) {
      bool onVectors = llvm::any_of(inner.getOperands(), [&](Value operand) {
        return isa<VectorType>(mapping.lookupOrDefault(operand).getType());
      });
      IRMapping local;
      for (Value operand : inner.getOperands()) {
        Value value = outside(mapping, operand);
        if (onVectors && !isa<VectorType>(value.getType()))
          value = splat(value, width);
        local.map(operand, value);
      }
      Operation *clone = b.clone(inner, local);
      for (auto [from, to] : llvm::zip(inner.getResults(), clone->getResults())) {
        if (onVectors)
          to.setType(VectorType::get({width}, from.getType()));
        mapping.map(from, to);
      }
    }
    return outside(mapping, body->getTerminator()->getOperand(op.result.getResultNumber()));
  }

  /// A value of a body: one of its own, or one from around it.
  Value outside(const IRMapping &mapping, Value value) {
    return mapping.contains(value) ? mapping.lookup(value) : scalars.lookupOrDefault(value);
  }

  /// Brings carried accumulators to the results: vectors into one number where they lie along what
  /// is combined, all rows into one where those are.
  void finish(WalkStage &stage, ArrayRef<Row> rows, const Axes &at, ArrayRef<Accumulators> parts) {
    size_t position = 0;
    for (size_t index : stage.ops) {
      WalkOp &op = plan.ops[index];
      if (!isCarried(stage, op))
        continue;
      bool across = stage.vectorAxis >= 0 && op.reduces(stage.vectorAxis);
      SmallVector<Value> totals(op.accumulates ? 1 : rows.size());
      for (const Accumulators &part : parts) {
        if (part.values.empty())
          continue;
        SmallVector<Value> values(ArrayRef(part.values).slice(position * part.rows, part.rows));
        if (op.accumulates) {
          for (size_t i = 1; i < values.size(); ++i)
            values[0] = combine(op, values[0], values[i]);
          values.truncate(1);
        }
        for (auto [total, value] : llvm::zip(totals, values)) {
          Value number = across ? reduceVector(op, value) : value;
          total = total ? combine(op, total, number) : number;
        }
      }
      ++position;
      if (op.accumulates) {
        int64_t width = widthOf(totals.front());
        Value before = read(stage, op, op.result, op.resultMap(), rows.front(), at, width);
        totals.front() = combine(op, before, totals.front());
      }
      for (auto [row, total] : llvm::zip(rows, totals))
        write(stage, op, row, at, widthOf(total), total);
    }
  }

  Value reduceVector(WalkOp &op, Value vector) {
    if (!isa<VectorType>(vector.getType()))
      return vector;
    auto kind = linalg::getCombinerOpKind(op.combiner);
    return b.create<vector::ReductionOp>(loc, *kind, vector, arith::FastMathFlags::reassoc);
  }

  Value combine(WalkOp &op, Value x, Value y) {
    Operation *clone = b.clone(*op.combiner);
    clone->setOperands({x, y});
    clone->getResult(0).setType(x.getType());
    return clone->getResult(0);
  }

  //===------------------------------------------------------------------------===//
  // Memory
  //===------------------------------------------------------------------------===//

  static bool indexes(WalkOp &op, AffineMap map, int axis) {
    return llvm::any_of(map.getResults(), [&](AffineExpr expr) {
      return op.axes[cast<AffineDimExpr>(expr).getPosition()] == axis;
    });
  }

  SmallVector<Value> indicesOf(WalkOp &op, const WalkPlace &place, AffineMap map, const Row &row,
                               const Axes &at) {
    SmallVector<Value> indices;
    if (place.kind == WalkPlace::Kind::Block)
      indices.push_back(block);
    for (AffineExpr expr : map.getResults()) {
      int axis = op.axes[cast<AffineDimExpr>(expr).getPosition()];
      if (axis != plan.rowAxis)
        indices.push_back(at.at(axis));
      else
        indices.push_back(place.kind == WalkPlace::Kind::Tile ? row.inTile : row.absolute);
    }
    return indices;
  }

  Value read(WalkStage &stage, WalkOp &op, Value value, AffineMap map, const Row &row,
             const Axes &at, int64_t width) {
    const WalkPlace &place = plan.places[value];
    SmallVector<Value> indices = indicesOf(op, place, map, row, at);
    Type element = cast<MemRefType>(place.memory.getType()).getElementType();
    if (width == 0 || !indexes(op, map, stage.vectorAxis))
      return b.create<memref::LoadOp>(loc, place.memory, indices);
    return b.create<vector::LoadOp>(loc, VectorType::get({width}, element), place.memory, indices);
  }

  void write(WalkStage &stage, WalkOp &op, const Row &row, const Axes &at, int64_t width,
             Value value) {
    const WalkPlace &place = plan.places[op.result];
    AffineMap map = op.resultMap();
    SmallVector<Value> indices = indicesOf(op, place, map, row, at);
    bool asVector = width && indexes(op, map, stage.vectorAxis);
    if (asVector && !isa<VectorType>(value.getType()))
      value = splat(value, width);
    if (asVector)
      b.create<vector::StoreOp>(loc, value, place.memory, indices);
    else
      b.create<memref::StoreOp>(loc, value, place.memory, indices);
  }

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

  //===------------------------------------------------------------------------===//
  // Numbers
  //===------------------------------------------------------------------------===//

  Value constant(int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); }
  Value offset(Value value, int64_t by) {
    return by ? b.create<arith::AddIOp>(loc, value, constant(by)).getResult() : value;
  }
  Value splat(Value scalar, int64_t width) {
    return b.create<vector::BroadcastOp>(loc, VectorType::get({width}, scalar.getType()), scalar);
  }
  static int64_t widthOf(Value value) {
    auto type = dyn_cast<VectorType>(value.getType());
    return type ? type.getNumElements() : 0;
  }
  Value initOf(WalkOp &op) { return scalars.lookupOrDefault(op.init()); }

  /// Where the last whole step from `first` ends.
  Value wholeSteps(Value first, Value end, int64_t step) {
    Value count = b.create<arith::SubIOp>(loc, end, first);
    Value left = b.create<arith::RemUIOp>(loc, count, constant(step));
    return b.create<arith::SubIOp>(loc, end, left);
  }

  Value sizeOf(int axis) {
    auto [tensor, dim] = plan.sizes[axis];
    int64_t size = cast<RankedTensorType>(tensor.getType()).getDimSize(dim);
    if (!ShapedType::isDynamic(size))
      return constant(size);
    if (auto empty = tensor.getDefiningOp<tensor::EmptyOp>())
      return scalars.lookupOrDefault(empty.getDynamicSize(dim));
    return b.create<memref::DimOp>(loc, plan.places[tensor].memory, dim);
  }

  int64_t lanesOf(WalkStage &stage) {
    int64_t bytes = 1;
    for (size_t index : stage.ops)
      for (Type type : plan.ops[index].op.getBody()->getArgumentTypes())
        bytes = std::max<int64_t>(bytes, type.getIntOrFloatBitWidth() / 8);
    return vectorBytes / bytes;
  }

  /// Whether the stage's body is too long to be written out for several rows.
  bool isHeavy(WalkStage &stage, int64_t rows) {
    constexpr int64_t kMostOperations = 128, kOperationsOfFunction = 20;
    int64_t operations = 0;
    for (size_t index : stage.ops)
      for (Operation &op : plan.ops[index].op.getBody()->without_terminator())
        operations += isa<math::MathDialect>(op.getDialect()) ? kOperationsOfFunction : 1;
    return operations * rows > kMostOperations;
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
  WalkPlan plan;
  int64_t tileRows, vectorBytes;
  Location loc;
  OpBuilder b;
  Value block;
  IRMapping scalars; // indices and constants of the loop's body
  llvm::DenseMap<std::pair<Value, size_t>, Value> computed;
  llvm::DenseMap<std::pair<Value, size_t>, Value> loaded;
};

struct CpuWalkRowsPass : impl::CpuWalkRowsPassBase<CpuWalkRowsPass> {
  using CpuWalkRowsPassBase::CpuWalkRowsPassBase;

  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!findWalk(kernel))
      return;
    FailureOr<WalkPlan> plan = WalkPlan::of(kernel);
    if (failed(plan)) {
      auto module = kernel->getParentOfType<ModuleOp>();
      module->setAttr(kRecipeRefusedAttr,
                      StringAttr::get(&getContext(), "the rows cannot be walked"));
      return;
    }
    WalkEmitter(kernel, std::move(*plan), rows, vectorBytes).run();
  }
};

} // namespace
} // namespace headrace
