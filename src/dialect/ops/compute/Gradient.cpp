// Gradients of the general structured operator: computes again, one per input.
//
//   y[i] = sum over k of f(x[2*i + k], ...)
// Every point (i, k) gives f'(...) * dy[i] to the element it reads. Seen from an element p: the sum
// over all k of what i = (p - k) / 2 gives, if that is a position of the domain.
#include "dialect/gradient/Builders.h"
#include "dialect/gradient/Inversion.h"
#include "dialect/ops/Operands.h"
#include "dialect/scalar/Combine.h"
#include "dialect/scalar/ScalarDerivative.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace headrace::gradient;

namespace headrace::hr {
namespace {

struct Operands {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<Value> tables;
};

using Body = llvm::function_ref<Value(OpBuilder &, ValueRange inputs, ValueRange tables)>;

/// The sum of what the body yields over the last `summed` dimensions.
Value createSum(OpBuilder &b, Location loc, Type element, const Operands &operands,
                ArrayRef<AffineExpr> domain, int64_t summed, Body write) {
  TypedAttr zero = summed > 0 ? cast<TypedAttr>(b.getZeroAttr(element)) : TypedAttr();
  auto op = b.create<ComputeOp>(loc, tensorType(domain.drop_back(summed), element), operands.inputs,
                                operands.tables, symbolMap(domain, b.getContext()),
                                b.getAffineMapArrayAttr(operands.maps), summed, zero);
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&op.getBody());
  for (Value input : operands.inputs)
    body->addArgument(typeOf(input).getElementType(), loc);
  for (Value table : operands.tables)
    body->addArgument(table.getType(), loc);
  size_t inputs = operands.inputs.size();
  Value value =
      write(b, body->getArguments().take_front(inputs), body->getArguments().drop_front(inputs));
  b.create<YieldOp>(loc, value);
  if (summed > 0) {
    Block *combine = b.createBlock(&op.getCombine(), {}, {element, element}, {loc, loc});
    b.create<YieldOp>(loc, combineValues(b, loc, ReduceKind::Sum, combine->getArgument(0),
                                         combine->getArgument(1)));
  }
  return op.getResult();
}

SmallVector<AffineMap> mapsOf(ComputeOp op) {
  auto maps = op.getMaps().getAsValueRange<AffineMapAttr>();
  return {maps.begin(), maps.end()};
}

AffineMap resultMap(ComputeOp op) { return op.getMovement().maps.back(); }

/// Reads operands of a compute in its gradient: by a map if that stays inside them, else by
/// index.
class OperandReader {
public:
  explicit OperandReader(const Inversion &inversion) : inversion(inversion) {}

  void add(Value value, AffineMap map) {
    AffineMap inverted = inversion.inverted(map);
    places.push_back({map, inverted ? operands.inputs.size() : operands.tables.size(), !inverted});
    if (inverted) {
      operands.inputs.push_back(value);
      operands.maps.push_back(inverted);
    } else {
      operands.tables.push_back(value);
    }
  }
  /// The element the gradient belongs to.
  void addSelf(Value value) {
    unsigned rank = typeOf(value).getRank(), dims = inversion.getSizes().size();
    AffineMap all = AffineMap::getMultiDimIdentityMap(dims, value.getContext());
    places.push_back({{}, operands.inputs.size(), false});
    operands.inputs.push_back(value);
    operands.maps.push_back(
        AffineMap::get(dims, 0, all.getResults().take_front(rank), value.getContext()));
  }
  void addTable(Value table) { operands.tables.push_back(table); }

  Value read(OpBuilder &b, Location loc, unsigned operand, ValueRange inputs, ValueRange tables,
             ArrayRef<Value> positions) const {
    const Place &place = places[operand];
    if (!place.byIndex)
      return inputs[place.index];
    SmallVector<Value> indices;
    for (AffineExpr expr : place.map.getResults())
      indices.push_back(affine::expandAffineExpr(b, loc, expr, positions, {}));
    Value table = tables[place.index];
    return b.create<ElementOp>(loc, cast<RankedTensorType>(table.getType()).getElementType(), table,
                               indices);
  }

  const Operands &get() const { return operands; }

private:
  struct Place {
    AffineMap map;
    size_t index;
    bool byIndex;
  };
  const Inversion &inversion;
  Operands operands;
  SmallVector<Place> places;
};

/// The gradient of one input of a sum, or of a compute without reduced dimensions; null if its body
/// has no derivative.
Value inputGradient(OpBuilder &b, ComputeOp op, unsigned input, Value dy) {
  Location loc = op.getLoc();
  SmallVector<AffineMap> maps = mapsOf(op);
  Value x = op.getInputs()[input];
  Type element = typeOf(x).getElementType();
  Inversion inversion(op.getDomain().getResults(), maps[input], shapeOf(x));
  OperandReader reader(inversion);
  for (auto [i, value] : llvm::enumerate(op.getInputs()))
    if (i == input)
      reader.addSelf(value);
    else
      reader.add(value, maps[i]);
  reader.add(dy, resultMap(op));
  for (Value table : op.getTables())
    reader.addTable(table);

  bool known = true;
  Value result = createSum(
      b, loc, element, reader.get(), inversion.getSizes(), inversion.walkedDims(),
      [&](OpBuilder &inner, ValueRange inputs, ValueRange tables) -> Value {
        Value valid;
        SmallVector<Value> positions = inversion.write(inner, loc, valid);
        SmallVector<Value> scalars;
        for (unsigned i = 0; i <= op.getInputs().size(); ++i)
          scalars.push_back(reader.read(inner, loc, i, inputs, tables, positions));
        Value change = scalars.pop_back_val();
        llvm::append_range(scalars, tables.take_back(op.getTables().size()));
        // The body's own positions are those of the domain it was written for.
        Operation *last = &inner.getInsertionBlock()->back();
        Value slope =
            buildDerivative(inner, loc, op.getBody().front(), scalars, /*result=*/{}, input);
        for (Operation &each : llvm::make_early_inc_range(
                 llvm::make_range(std::next(Block::iterator(last)), inner.getInsertionPoint())))
          if (auto index = dyn_cast<IndexOp>(each)) {
            index.replaceAllUsesWith(positions[index.getDim()]);
            index.erase();
          }
        Value zero = inner.create<arith::ConstantOp>(loc, inner.getZeroAttr(element));
        known = slope != nullptr;
        if (known)
          change = converted(inner, loc, scaleDerivative(inner, loc, slope, change), element);
        else
          change = zero;
        return valid ? inner.create<arith::SelectOp>(loc, valid, change, zero) : change;
      });
  return known ? result : Value();
}

/// The kind of reduction, if it is one of those that have a name.
std::optional<ReduceKind> kindOf(ComputeOp op) {
  Block &combine = op.getCombine().front();
  if (combine.getOperations().size() != 2 ||
      combine.getTerminator()->getOperand(0) != combine.front().getResult(0) ||
      !llvm::all_of(combine.getArguments(), [&](Value argument) {
        return llvm::is_contained(combine.front().getOperands(), argument);
      }))
    return std::nullopt;
  std::optional<ReduceKind> kind =
      llvm::TypeSwitch<Operation *, std::optional<ReduceKind>>(&combine.front())
          .Case<arith::AddFOp>([](auto) { return ReduceKind::Sum; })
          .Case<arith::MulFOp>([](auto) { return ReduceKind::Prod; })
          .Case<arith::MaximumFOp>([](auto) { return ReduceKind::Max; })
          .Case<arith::MinimumFOp>([](auto) { return ReduceKind::Min; })
          .Default([](auto) { return std::nullopt; });
  if (!kind || op.getInitialValue() != neutralValue(*kind, typeOf(op).getElementType()))
    return std::nullopt;
  return kind;
}

/// The body at every point of the domain, with further inputs that lie along it instead of the
/// elements `read`; `yielded` instead of what it yields, if given.
Value pointwise(OpBuilder &b, ComputeOp op, ArrayRef<ElementOp> read, ArrayRef<Value> instead,
                Type type, llvm::function_ref<Value(OpBuilder &, IRMapping &)> yielded) {
  Operands operands{SmallVector<Value>(op.getInputs()), mapsOf(op),
                    SmallVector<Value>(op.getTables())};
  AffineMap all =
      AffineMap::getMultiDimIdentityMap(op.getDomain().getNumResults(), op.getContext());
  for (Value value : instead) {
    operands.inputs.push_back(value);
    operands.maps.push_back(all);
  }
  return createSum(b, op.getLoc(), type, operands, op.getDomain().getResults(), /*summed=*/0,
                   [&](OpBuilder &inner, ValueRange inputs, ValueRange tables) {
                     Block &body = op.getBody().front();
                     IRMapping mapping;
                     size_t count = op.getInputs().size();
                     mapping.map(body.getArguments().take_front(count), inputs.take_front(count));
                     mapping.map(body.getArguments().drop_front(count), tables);
                     for (Operation &each : body.without_terminator()) {
                       auto *place = llvm::find(read, dyn_cast<ElementOp>(each));
                       if (place != read.end())
                         mapping.map(each.getResult(0), inputs[count + (place - read.begin())]);
                       else
                         inner.clone(each, mapping);
                     }
                     return yielded(inner, mapping);
                   });
}

Value valuesAtPoints(OpBuilder &b, ComputeOp op, ArrayRef<ElementOp> read, ArrayRef<Value> instead,
                     Value scalar) {
  return pointwise(b, op, read, instead, scalar.getType(),
                   [&](OpBuilder &, IRMapping &mapping) { return mapping.lookup(scalar); });
}

/// Which element of its table, counted through, is read at every point.
Value placesAtPoints(OpBuilder &b, ComputeOp op, ElementOp element) {
  Location loc = op.getLoc();
  return pointwise(b, op, {}, {}, b.getI64Type(), [&](OpBuilder &inner, IRMapping &mapping) {
    Value zero = inner.create<arith::ConstantIndexOp>(loc, 0), place = zero;
    SymbolicShape shape = shapeOf(element.getTable());
    for (auto [index, size] : llvm::zip(element.getIndices(), shape)) {
      Value count = inner.create<SizeOp>(loc, symbolMap({size}, b.getContext()));
      Value last = inner.create<SizeOp>(loc, symbolMap({size - 1}, b.getContext()));
      Value inside = inner.create<arith::MinSIOp>(loc, mapping.lookup(index), last);
      inside = inner.create<arith::MaxSIOp>(loc, inside, zero);
      place =
          inner.create<arith::AddIOp>(loc, inner.create<arith::MulIOp>(loc, place, count), inside);
    }
    return inner.create<arith::IndexCastOp>(loc, inner.getI64Type(), place).getResult();
  });
}

/// The gradient of a read by index (gather): a scatter-add to the places that were read.
Value addedBack(OpBuilder &b, ComputeOp op, ElementOp element, Value gradient) {
  Location loc = op.getLoc();
  MLIRContext *context = op.getContext();
  AffineExpr one = constantDim(1, context);
  AffineExpr points = elementCount(op.getDomain().getResults(), context);
  SymbolicShape shape = shapeOf(element.getTable());
  Value updates = reshaped(b, loc, gradient, {one, points, one});
  Value places = reshaped(b, loc, placesAtPoints(b, op, element), {points});
  auto type = tensorType({one, elementCount(shape, context), one}, element.getType());
  Value added = b.create<ScatterOp>(loc, type, updates, places, Value(),
                                    ReduceKindAttr::get(context, ReduceKind::Sum));
  return reshaped(b, loc, added, shape);
}

SmallVector<ElementOp> readByIndex(ComputeOp op) {
  SmallVector<ElementOp> found;
  for (auto element : op.getBody().front().getOps<ElementOp>())
    if (isa<FloatType>(element.getType()))
      found.push_back(element);
  return found;
}

/// The last dimensions reduced by an operator of its own.
Gradients gradientThroughReduce(OpBuilder &b, ComputeOp op, ReduceKind kind, Value dy) {
  Value yielded = op.getBody().front().getTerminator()->getOperand(0);
  Value values = valuesAtPoints(b, op, {}, {}, yielded);
  int64_t rank = typeOf(op).getRank();
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(rank, op.getDomain().getNumResults()));
  auto reduce = b.create<ReduceOp>(op.getLoc(), values, kind, axes, /*keep_dims=*/false);
  Gradients combined = reduce.gradient(b, dy);
  return cast<ComputeOp>(values.getDefiningOp()).gradient(b, combined->front());
}

} // namespace

Gradients ComputeOp::gradient(OpBuilder &b, Value dy) {
  std::optional<ReduceKind> kind = getReduced() > 0 ? kindOf(*this) : ReduceKind::Sum;
  if (!kind) {
    emitError("a reduction of the user's own has no gradient");
    return failure();
  }
  if (*kind != ReduceKind::Sum)
    return gradientThroughReduce(b, *this, *kind, dy);

  size_t inputs = getInputs().size();
  SmallVector<Value> gradients(getNumOperands());
  SmallVector<ElementOp> elements = readByIndex(*this);
  ComputeOp op = *this;
  if (!elements.empty()) {
    // Elements read by index are inputs along the domain while the gradient is taken.
    SmallVector<Value> read;
    for (ElementOp element : elements)
      read.push_back(valuesAtPoints(b, *this, {}, {}, element.getResult()));
    Value yielded = getBody().front().getTerminator()->getOperand(0);
    op = cast<ComputeOp>(valuesAtPoints(b, *this, elements, read, yielded).getDefiningOp());
    SymbolicShape kept = shapeOf(getResult());
    kept.append(getReduced(), constantDim(1, getContext()));
    SmallVector<AffineExpr> domain(getDomain().getResults());
    dy = broadcast(b, getLoc(), reshaped(b, getLoc(), dy, kept), domain);
  }
  for (unsigned i = 0; i < op.getInputs().size(); ++i) {
    if (!dependsOn(op.getBody().front(), i))
      continue;
    Value gradient = inputGradient(b, op, i, dy);
    if (!gradient)
      return failure();
    if (i < inputs) {
      gradients[i] = gradient;
      continue;
    }
    ElementOp element = elements[i - inputs];
    Value back = addedBack(b, *this, element, gradient);
    Value &total = gradients[cast<BlockArgument>(element.getTable()).getArgNumber()];
    total = total ? sum(b, getLoc(), total, back) : back;
  }
  return gradients;
}

} // namespace headrace::hr
