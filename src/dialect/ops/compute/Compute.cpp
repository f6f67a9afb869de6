// The general structured operator: its shape rule, data movement and body.
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace::hr {

LogicalResult ComputeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                          Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  AffineMap domain = adaptor.getDomain();
  int64_t reduced = static_cast<int64_t>(adaptor.getReduced());
  if (domain.getNumDims() != 0)
    return emitOptionalError(loc, "expected a domain of sizes over symbols only");
  if (reduced < 0 || reduced > domain.getNumResults())
    return emitOptionalError(loc, "expected 0 to ", domain.getNumResults(),
                             " reduced dimensions, got ", reduced);
  if (adaptor.getBody().empty() || adaptor.getBody().front().empty())
    return emitOptionalError(loc, "a compute needs a body");
  Operation *yield = adaptor.getBody().front().getTerminator();
  if (yield->getNumOperands() != 1)
    return emitOptionalError(loc, "a compute's body yields one value");
  inferred.push_back(
      tensorType(domain.getResults().drop_back(reduced), yield->getOperand(0).getType()));
  return success();
}

static LogicalResult verifyScalars(ComputeOp op, Block &body, bool isCombine) {
  for (Operation &inner : body.without_terminator()) {
    if (auto index = dyn_cast<IndexOp>(inner); index && !isCombine) {
      if (index.getDim() >= op.getDomain().getNumResults())
        return op.emitOpError("has no dimension ") << index.getDim();
      continue;
    }
    if (auto element = dyn_cast<ElementOp>(inner); element && !isCombine) {
      auto table = dyn_cast<BlockArgument>(element.getTable());
      auto type = cast<RankedTensorType>(element.getTable().getType());
      if (!table || table.getOwner() != &body ||
          type.getRank() != static_cast<int64_t>(element.getIndices().size()) ||
          type.getElementType() != element.getType())
        return op.emitOpError("expected an element of a table by one index per dimension");
      continue;
    }
    if (!isa<SizeOp, BitsOp>(inner) &&
        !isa<arith::ArithDialect, math::MathDialect>(inner.getDialect()))
      return op.emitOpError("holds scalar arithmetic only, got ") << inner.getName();
  }
  return success();
}

LogicalResult ComputeOp::verifyRegions() {
  unsigned dims = getDomain().getNumResults();
  auto maps = getMaps().getAsValueRange<AffineMapAttr>();
  if (llvm::range_size(maps) != getInputs().size())
    return emitOpError("expected one map per input");
  for (auto [map, input] : llvm::zip(maps, getInputs()))
    if (map.getNumDims() != dims || map.getNumSymbols() != 0 ||
        map.getNumResults() != cast<RankedTensorType>(input.getType()).getRank())
      return emitOpError("expected a map from ")
             << dims << " dimensions to each dimension of its input, got "
             << AffineMapAttr::get(map);
  Block &body = getBody().front();
  if (body.getNumArguments() != getNumOperands())
    return emitOpError("expected one body argument per operand, got ") << body.getNumArguments();
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    bool isTable = i >= getInputs().size();
    Type expected = isTable ? getOperand(i).getType() : getElementTypeOrSelf(getOperand(i));
    if (argument.getType() != expected)
      return emitOpError("expected a body argument of type ")
             << expected << ", got " << argument.getType();
  }
  if (failed(verifyScalars(*this, body, /*isCombine=*/false)))
    return failure();
  bool reduces = getReduced() > 0;
  if (getCombine().empty() == reduces || static_cast<bool>(getInitialAttr()) != reduces)
    return emitOpError("expected an initial value and a reduction function if dimensions are "
                       "reduced, and only there");
  if (!reduces)
    return success();
  Type element = getElementTypeOrSelf(getResult());
  Block &combine = getCombine().front();
  if (cast<TypedAttr>(getInitialAttr()).getType() != element ||
      !llvm::equal(combine.getArgumentTypes(), ArrayRef<Type>{element, element}) ||
      !llvm::equal(combine.getTerminator()->getOperandTypes(), ArrayRef<Type>{element}))
    return emitOpError("expected a reduction of two values of type ") << element << " into one";
  return verifyScalars(*this, combine, /*isCombine=*/true);
}

Movement ComputeOp::getMovement() {
  Movement m;
  llvm::append_range(m.domain, getDomain().getResults());
  unsigned rank = m.domain.size() - getReduced();
  m.iterators.assign(rank, IteratorType::parallel);
  m.iterators.append(getReduced(), IteratorType::reduction);
  llvm::append_range(m.maps, getMaps().getAsValueRange<AffineMapAttr>());
  m.maps.append(getTables().size(), AffineMap());
  AffineMap all = AffineMap::getMultiDimIdentityMap(m.domain.size(), getContext());
  m.maps.push_back(
      AffineMap::get(m.domain.size(), 0, all.getResults().take_front(rank), getContext()));
  walk([&](Operation *op) {
    if (auto index = dyn_cast<IndexOp>(op)) {
      if (!llvm::is_contained(m.indexed, index.getDim()))
        m.indexed.push_back(index.getDim());
    } else if (op != getOperation() && !isa<arith::ConstantOp, SizeOp, ElementOp, YieldOp>(op)) {
      ++m.operationsPerPoint;
    }
  });
  return m;
}

/// The indices brought inside the table, whatever they are.
static Value readElement(OpBuilder &b, ElementOp op, Value table, ValueRange indices) {
  Location loc = op.getLoc();
  SymbolicShape shape = shapeOf(op.getTable());
  if (llvm::any_of(shape, [](AffineExpr size) { return constantValue(size) == 0; }))
    return b.create<arith::ConstantOp>(loc, b.getZeroAttr(op.getType()));
  Value zero = b.create<arith::ConstantIndexOp>(loc, 0);
  SmallVector<Value> inside;
  for (auto [index, size] : llvm::zip(indices, shape)) {
    Value last = b.create<SizeOp>(loc, symbolMap({size - 1}, b.getContext()));
    inside.push_back(
        b.create<arith::MaxSIOp>(loc, b.create<arith::MinSIOp>(loc, index, last), zero));
  }
  return b.create<tensor::ExtractOp>(loc, table, inside);
}

static Value inlined(OpBuilder &b, Block &body, ValueRange arguments) {
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator())
    if (auto element = dyn_cast<ElementOp>(op)) {
      SmallVector<Value> indices;
      for (Value index : element.getIndices())
        indices.push_back(mapping.lookup(index));
      mapping.map(element.getResult(),
                  readElement(b, element, mapping.lookup(element.getTable()), indices));
    } else {
      b.clone(op, mapping);
    }
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
}

Value ComputeOp::buildBody(OpBuilder &b, ValueRange scalars) {
  Value value = inlined(b, getBody().front(), scalars.take_front(getNumOperands()));
  return getReduced() == 0 ? value : inlined(b, getCombine().front(), {scalars.back(), value});
}

TypedAttr ComputeOp::getInitialValue() { return cast_or_null<TypedAttr>(getInitialAttr()); }

FusionRole ComputeOp::getFusionRole() {
  return getReduced() > 0 ? FusionRole::Anchor : FusionRole::Elementwise;
}

} // namespace headrace::hr
