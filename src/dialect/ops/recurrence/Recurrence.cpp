// A state that is carried from step to step: shape rule, movement, reference and lowering.
#include "dialect/KernelSizes.h"
#include "dialect/LinalgBuilders.h"
#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"
#include "dialect/reference/RecurrenceSteps.h"
#include "dialect/reference/Reference.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace headrace::hr {

LogicalResult RecurOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                        SmallVectorImpl<Type> &inferred) {
  if (adaptor.getSequences().empty() || typeOf(adaptor.getSequences().front()).getRank() == 0)
    return emitOptionalError(loc, "expected a sequence with steps along its first dimension");
  auto state = typeOf(adaptor.getInitial());
  SymbolicShape result{shapeOf(adaptor.getSequences().front()).front()};
  result.append(shapeOf(state));
  inferred.push_back(tensorType(result, state.getElementType()));
  return success();
}

/// The part of a sequence that one step takes.
static RankedTensorType stepType(Value sequence) {
  SymbolicShape shape = shapeOf(sequence);
  return tensorType(ArrayRef(shape).drop_front(), getElementTypeOrSelf(sequence));
}

LogicalResult RecurOp::verifyRegions() {
  AffineExpr steps = shapeOf(getResult()).front();
  SmallVector<Type> expected{getInitial().getType()};
  for (Value sequence : getSequences()) {
    SymbolicShape shape = shapeOf(sequence);
    if (shape.empty() || !sameSize(shape.front(), steps))
      return emitOpError("expected sequences of ")
             << shapeText({steps}) << " steps, got " << shapeText(shape);
    expected.push_back(stepType(sequence));
  }
  llvm::append_range(expected, getWeights().getTypes());
  Block &body = getBody().front();
  if (!llvm::equal(body.getArgumentTypes(), expected))
    return emitOpError("expected a body of the state, a step of each sequence, and the weights");
  for (Operation &op : body.without_terminator())
    if (!isa<ComputeOp>(op))
      return emitOpError("expected steps of hr.compute, got ") << op.getName();
  if (!llvm::equal(body.getTerminator()->getOperandTypes(), ArrayRef(expected).take_front()))
    return emitOpError("expected a body that yields the next state");
  return success();
}

/// The operations of a step are counted for every element of the state it leaves.
Movement RecurOp::getMovement() {
  Movement m = overResult(getResult());
  std::optional<int64_t> state = constantValue(elementCount(shapeOf(getInitial()), getContext()));
  for (auto op : getBody().front().getOps<ComputeOp>()) {
    std::optional<int64_t> each = constantValue(op.getMovement().operations(getContext()));
    m.operationsPerPoint += each && state && *state > 0 ? llvm::divideCeil(*each, *state) : 1;
  }
  m.maps.assign(getNumOperands(), AffineMap());
  m.maps.push_back(identityMap(getResult()));
  return m;
}

/// One operator of a step, over plain tensors.
static Value lowerStep(OpBuilder &b, ComputeOp op, IRMapping &values) {
  Location loc = op.getLoc();
  Movement m = op.getMovement();
  SmallVector<Value> inputs, tables;
  for (Value input : op.getInputs())
    inputs.push_back(values.lookup(input));
  for (Value table : op.getTables())
    tables.push_back(values.lookup(table));
  llvm::erase_if(m.maps, [](AffineMap map) { return !map; });
  // Dimensions that no map has take their size from a tensor that is never read.
  SmallVector<AffineExpr> unseen, unseenSizes;
  for (auto [i, size] : llvm::enumerate(m.domain))
    if (llvm::none_of(m.maps, [&](AffineMap map) { return map.isFunctionOfDim(i); })) {
      unseen.push_back(getAffineDimExpr(i, op.getContext()));
      unseenSizes.push_back(size);
    }
  size_t read = inputs.size();
  if (!unseen.empty()) {
    inputs.push_back(emptyTensor(b, loc, unseenSizes, getElementTypeOrSelf(op.getResult())));
    m.maps.insert(m.maps.end() - 1, AffineMap::get(m.domain.size(), 0, unseen, op.getContext()));
  }
  Value init = emptyLike(b, loc, op.getResult());
  if (TypedAttr start = op.getInitialValue()) {
    Value scalar = b.create<arith::ConstantOp>(loc, start);
    init = b.create<linalg::FillOp>(loc, scalar, init).getResult(0);
  }
  Value result = generic(b, loc, m, inputs, init, [&](OpBuilder &body, Location, ValueRange args) {
    SmallVector<Value> scalars(args.take_front(read));
    llvm::append_range(scalars, tables);
    scalars.push_back(args.back());
    return op.buildBody(body, scalars);
  });
  result.getDefiningOp()->walk([](IndexOp index) {
    OpBuilder at(index);
    index.replaceAllUsesWith(
        at.create<linalg::IndexOp>(index.getLoc(), index.getDim()).getResult());
    index.erase();
  });
  return result;
}

FailureOr<Value> RecurOp::lowerToLinalg(OpBuilder &b, ValueRange inputs) {
  Location loc = getLoc();
  SymbolicShape states = shapeOf(getResult());
  size_t sequences = getSequences().size();
  Value zero = b.create<arith::ConstantIndexOp>(loc, 0);
  Value one = b.create<arith::ConstantIndexOp>(loc, 1);
  Value count = getValueOrCreateConstantIndexOp(b, loc, sizeOperand(b, loc, states.front()));
  Value start = b.create<linalg::CopyOp>(loc, inputs[sequences], emptyLike(b, loc, getInitial()))
                    .getResult(0);
  auto part = [&](OpBuilder &inner, ArrayRef<AffineExpr> shape, Value step, auto use) {
    SmallVector<OpFoldResult> offsets(shape.size(), inner.getIndexAttr(0));
    SmallVector<OpFoldResult> ones(shape.size(), inner.getIndexAttr(1));
    SmallVector<OpFoldResult> sizes = sizeOperands(inner, loc, shape);
    offsets.front() = step;
    sizes.front() = inner.getIndexAttr(1);
    return use(offsets, sizes, ones);
  };
  auto loop = b.create<scf::ForOp>(
      loc, zero, count, one, ValueRange{start, emptyLike(b, loc, getResult())},
      [&](OpBuilder &inner, Location at, Value step, ValueRange carried) {
        Block &body = getBody().front();
        IRMapping values;
        values.map(body.getArgument(0), carried[0]);
        for (size_t i = 0; i < sequences; ++i) {
          Value sequence = getSequences()[i];
          values.map(body.getArgument(1 + i),
                     part(inner, shapeOf(sequence), step, [&](auto offsets, auto sizes, auto ones) {
                       return inner.create<tensor::ExtractSliceOp>(
                           at, plainType(stepType(sequence)), inputs[i], offsets, sizes, ones);
                     }));
        }
        for (size_t i = 0; i < getWeights().size(); ++i)
          values.map(body.getArgument(1 + sequences + i), inputs[1 + sequences + i]);
        for (auto op : body.getOps<ComputeOp>())
          values.map(op.getResult(), lowerStep(inner, op, values));
        Value state = values.lookup(body.getTerminator()->getOperand(0));
        Value all = part(inner, states, step, [&](auto offsets, auto sizes, auto ones) {
          return inner.create<tensor::InsertSliceOp>(at, state, carried[1], offsets, sizes, ones);
        });
        Value next = inner.create<linalg::CopyOp>(at, state, carried[0]).getResult(0);
        inner.create<scf::YieldOp>(at, ValueRange{next, all});
      });
  return loop.getResult(1);
}

Tensor RecurOp::evaluate(reference::Tensors inputs, reference::Sizes symbols) {
  return reference::evaluateRecurrence(*this, inputs, symbols,
                                       [&](ComputeOp op, MutableArrayRef<Tensor> operands) {
                                         return op.evaluate(operands, symbols);
                                       });
}

} // namespace headrace::hr

namespace headrace::reference {

Tensor evaluateRecurrence(hr::RecurOp recur, Tensors inputs, Sizes symbols, EvaluateStep evaluate) {
  Tensor result = allocateResult(recur.getResult(), symbols);
  size_t sequences = recur.getSequences().size();
  Block &body = recur.getBody().front();
  Tensor state = inputs[sequences];
  for (int64_t step = 0; step < result.shape().front(); ++step) {
    llvm::DenseMap<Value, Tensor> values{{body.getArgument(0), state}};
    for (size_t i = 0; i < sequences; ++i) {
      Shape shape(inputs[i].shape().begin() + 1, inputs[i].shape().end());
      Tensor now = Tensor::allocate(inputs[i].dtype(), shape);
      int64_t count = now.elements();
      copyBlock({count}, inputs[i], {step * count, {1}}, now, {0, {1}});
      values[body.getArgument(1 + i)] = now;
    }
    for (size_t i = 0; i < recur.getWeights().size(); ++i)
      values[body.getArgument(1 + sequences + i)] = inputs[1 + sequences + i];
    for (auto op : body.getOps<hr::ComputeOp>()) {
      SmallVector<Tensor> operands;
      for (Value operand : op->getOperands())
        operands.push_back(values.lookup(operand));
      values[op.getResult()] = evaluate(op, operands);
    }
    state = values.lookup(body.getTerminator()->getOperand(0));
    int64_t count = state.elements();
    copyBlock({count}, state, {0, {1}}, result, {step * count, {1}});
  }
  return result;
}

} // namespace headrace::reference
