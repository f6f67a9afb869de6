#include "dialect/ops/compute/ScalarRegions.h"

#include "dialect/SymbolicShape.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace::hr {

LogicalResult verifyScalars(Operation *op, Block &body, AffineMap domain, bool isCombine) {
  for (Operation &inner : body.without_terminator()) {
    if (auto index = dyn_cast<IndexOp>(inner); index && !isCombine) {
      if (index.getDim() >= domain.getNumResults())
        return op->emitOpError("has no dimension ") << index.getDim();
      continue;
    }
    if (auto element = dyn_cast<ElementOp>(inner); element && !isCombine) {
      auto table = dyn_cast<BlockArgument>(element.getTable());
      auto type = cast<RankedTensorType>(element.getTable().getType());
      if (!table || table.getOwner() != &body ||
          type.getRank() != static_cast<int64_t>(element.getIndices().size()) ||
          type.getElementType() != element.getType())
        return op->emitOpError("expected an element of a table by one index per dimension");
      continue;
    }
    if (!isa<SizeOp, BitsOp>(inner) &&
        !isa<arith::ArithDialect, math::MathDialect>(inner.getDialect()))
      return op->emitOpError("holds scalar arithmetic only, got ") << inner.getName();
  }
  return success();
}

LogicalResult verifyPointBody(Operation *op, AffineMap domain, ArrayAttr mapAttrs,
                              ValueRange inputs, Block &body) {
  unsigned dims = domain.getNumResults();
  auto maps = mapAttrs.getAsValueRange<AffineMapAttr>();
  if (llvm::range_size(maps) != inputs.size())
    return op->emitOpError("expected one map per input");
  for (auto [map, input] : llvm::zip(maps, inputs))
    if (map.getNumDims() != dims || map.getNumSymbols() != 0 ||
        map.getNumResults() != cast<RankedTensorType>(input.getType()).getRank())
      return op->emitOpError("expected a map from ")
             << dims << " dimensions to each dimension of its input, got "
             << AffineMapAttr::get(map);
  if (body.getNumArguments() != op->getNumOperands())
    return op->emitOpError("expected one body argument per operand, got ")
           << body.getNumArguments();
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    bool isTable = i >= inputs.size();
    Value operand = op->getOperand(i);
    Type expected = isTable ? operand.getType() : getElementTypeOrSelf(operand);
    if (argument.getType() != expected)
      return op->emitOpError("expected a body argument of type ")
             << expected << ", got " << argument.getType();
  }
  return verifyScalars(op, body, domain, /*isCombine=*/false);
}

Movement movementOf(Operation *op, AffineMap domain, int64_t reduced, ArrayAttr maps,
                    size_t tables) {
  MLIRContext *context = op->getContext();
  Movement m;
  llvm::append_range(m.domain, domain.getResults());
  unsigned rank = m.domain.size() - reduced;
  m.iterators.assign(rank, IteratorType::parallel);
  m.iterators.append(reduced, IteratorType::reduction);
  llvm::append_range(m.maps, maps.getAsValueRange<AffineMapAttr>());
  m.maps.append(tables, AffineMap());
  AffineMap all = AffineMap::getMultiDimIdentityMap(m.domain.size(), context);
  m.maps.push_back(AffineMap::get(m.domain.size(), 0, all.getResults().take_front(rank), context));
  op->walk([&](Operation *inner) {
    if (auto index = dyn_cast<IndexOp>(inner)) {
      if (!llvm::is_contained(m.indexed, index.getDim()))
        m.indexed.push_back(index.getDim());
    } else if (inner != op && !isa<arith::ConstantOp, SizeOp, ElementOp, YieldOp>(inner)) {
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

SmallVector<Value> inlined(OpBuilder &b, Block &body, ValueRange arguments, ValueRange position) {
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator())
    if (auto element = dyn_cast<ElementOp>(op)) {
      SmallVector<Value> indices;
      for (Value index : element.getIndices())
        indices.push_back(mapping.lookup(index));
      mapping.map(element.getResult(),
                  readElement(b, element, mapping.lookup(element.getTable()), indices));
    } else if (auto index = dyn_cast<IndexOp>(op); index && !position.empty()) {
      mapping.map(index.getResult(), position[index.getDim()]);
    } else {
      b.clone(op, mapping);
    }
  SmallVector<Value> values;
  for (Value value : body.getTerminator()->getOperands())
    values.push_back(mapping.lookupOrDefault(value));
  return values;
}

} // namespace headrace::hr
