#include "target/cuda/write/PointWriter.h"

#include "dialect/Hr.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace::cuda {

constexpr unsigned kMaxSymbols = 32;
constexpr int64_t kMaxWrittenOut = 16;

Type storedAs(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  return integer ? IntegerType::get(element.getContext(), integer.getWidth()) : element;
}

Type storedElementOf(Value tensor) {
  return storedAs(cast<RankedTensorType>(tensor.getType()).getElementType());
}

AffineExpr PointWriter::addCoordinate(Value index) {
  coordinates.push_back(index);
  return getAffineDimExpr(coordinates.size() - 1, kernel.context());
}

void PointWriter::setLanes(AffineExpr lane, unsigned count, unsigned multiple) {
  laneExpr = count > 1 ? lane : AffineExpr();
  laneCount = count;
  laneMultiple = multiple ? multiple : count;
}

AffineExpr PointWriter::simplified(AffineExpr expr) const {
  return simplifyAffineExpr(expr, coordinates.size(), kMaxSymbols);
}

AffineExpr PointWriter::shifted(AffineExpr expr, unsigned lane) const {
  if (lane == 0 || !laneExpr)
    return expr;
  return expr.replace(laneExpr, laneExpr + lane);
}

bool PointWriter::usesLanes(ArrayRef<AffineExpr> point) const {
  return laneExpr && llvm::any_of(point, [&](AffineExpr expr) {
           return expr.isFunctionOfDim(cast<AffineDimExpr>(laneExpr).getPosition());
         });
}

Value PointWriter::value(AffineExpr expr, unsigned lane) {
  expr = simplified(shifted(expr, lane));
  if (expr.isSymbolicOrConstant())
    return kernel.size(expr);
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return coordinates[dim.getPosition()];
  if (Value known = state.values.lookup(expr))
    return known;
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Location loc = kernel.loc();
  Value lhs = value(binary.getLHS()), result;
  // x + -1 * y
  auto rhsConstant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  Value rhs = value(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    result = b.create<arith::AddIOp>(loc, lhs, rhs);
    break;
  case AffineExprKind::Mul:
    result = rhsConstant && rhsConstant.getValue() == 1
                 ? lhs
                 : b.create<arith::MulIOp>(loc, lhs, rhs).getResult();
    break;
  case AffineExprKind::FloorDiv:
    result = b.create<arith::DivUIOp>(loc, lhs, rhs);
    break;
  case AffineExprKind::Mod:
    result = b.create<arith::RemUIOp>(loc, lhs, rhs);
    break;
  default:
    result = b.create<arith::CeilDivUIOp>(loc, lhs, rhs);
    break;
  }
  state.values[expr] = result;
  return result;
}

Value PointWriter::less(AffineExpr expr, AffineExpr bound) {
  return b.create<arith::CmpIOp>(kernel.loc(), arith::CmpIPredicate::ult, value(expr),
                                 value(bound));
}

std::vector<const void *> PointWriter::keyOf(Value tensor, ArrayRef<AffineExpr> point) const {
  std::vector<const void *> key{tensor.getAsOpaquePointer(),
                                laneExpr ? laneExpr.getAsOpaquePointer() : nullptr};
  for (AffineExpr expr : point)
    key.push_back(expr.getAsOpaquePointer());
  return key;
}

Pack PointWriter::zeros(Type type) {
  return Pack(laneCount, b.create<arith::ConstantOp>(kernel.loc(), b.getZeroAttr(type)));
}

Pack PointWriter::refuse(Operation *op, Type type, const Twine &why) {
  if (!broken)
    op->emitError() << "cannot be computed on the device: " << why;
  broken = true;
  return zeros(type);
}

Pack PointWriter::at(Value tensor, ArrayRef<AffineExpr> given) {
  Point point;
  for (AffineExpr expr : given)
    point.push_back(simplified(expr));
  std::vector<const void *> key = keyOf(tensor, point);
  if (auto known = state.points.find(key); known != state.points.end())
    return known->second;
  Pack result;
  if (std::optional<Pack> given = computer ? computer(tensor, point) : std::nullopt) {
    result = *given;
  } else if (auto memory = memories.find(tensor); memory != memories.end()) {
    result = load(memory->second, point);
  } else if (Operation *op = tensor.getDefiningOp()) {
    result = compute(op, point);
  } else {
    // An iteration argument of a loop, known at the point that it is carried for.
    Point same;
    for (AffineExpr expr : point)
      same.push_back(simplified(expr.replace(state.equal)));
    auto known = state.points.find(keyOf(tensor, same));
    if (known == state.points.end())
      return refuse(tensor.getParentBlock()->getParentOp(), storedElementOf(tensor),
                    "a loop reads a carried tensor at another point");
    result = known->second;
  }
  state.points[key] = result;
  return result;
}

Pack PointWriter::compute(Operation *op, ArrayRef<AffineExpr> point) {
  if (computer)
    if (std::optional<Pack> result = computer(op->getResult(0), point))
      return *result;
  return llvm::TypeSwitch<Operation *, Pack>(op)
      .Case([&](linalg::GenericOp generic) { return this->generic(generic, point); })
      .Case([&](linalg::FillOp fill) {
        IRMapping none;
        return Pack(laneCount, captured(fill.value(), none));
      })
      .Case([&](linalg::CopyOp copy) { return at(copy.getInputs().front(), point); })
      .Case([&](tensor::EmptyOp empty) { return zeros(storedElementOf(empty)); })
      .Case([&](tensor::PadOp pad) { return this->pad(pad, point); })
      .Case([&](tensor::ExtractSliceOp slice) { return this->slice(slice, point); })
      .Case([&](tensor::InsertSliceOp insert) { return insertion(insert, point); })
      .Case([&](tensor::CastOp cast) { return at(cast.getSource(), point); })
      .Case([&](scf::ForOp loop) { return this->loop(loop, point); })
      .Default([&](Operation *other) {
        return refuse(other, storedElementOf(other->getResult(0)), "no rule for this operation");
      });
}

Pack PointWriter::laneByLane(Operation *op, ArrayRef<AffineExpr> point) {
  AffineExpr lane = laneExpr;
  unsigned count = laneCount, multiple = laneMultiple;
  Pack result;
  for (unsigned i = 0; i < count; ++i) {
    Point one;
    for (AffineExpr expr : point)
      one.push_back(simplified(shifted(expr, i)));
    setLanes({}, 1);
    result.push_back(compute(op, one).front());
    setLanes(lane, count, multiple);
  }
  return result;
}

Pack PointWriter::choose(Value condition, ArrayRef<Type> types, llvm::function_ref<Pack()> then,
                         llvm::function_ref<Pack()> otherwise) {
  Location loc = kernel.loc();
  auto branch = b.create<scf::IfOp>(loc, types, condition, /*withElseRegion=*/true);
  auto fill = [&](Block *block, llvm::function_ref<Pack()> compute) {
    Scope scope(*this);
    b.setInsertionPointToEnd(block);
    Pack values = compute();
    b.create<scf::YieldOp>(loc, values);
  };
  fill(branch.thenBlock(), then);
  fill(branch.elseBlock(), otherwise);
  return Pack(branch.getResults());
}

//===--------------------------------------------------------------------------===//
// linalg.generic
//===--------------------------------------------------------------------------===//

Pack PointWriter::generic(linalg::GenericOp op, ArrayRef<AffineExpr> point) {
  Point loops = loopsAt(op, point);
  if (loops.empty() && op.getNumLoops() > 0)
    return refuse(op, storedElementOf(op.getResult(0)), "its result is written in no plain order");
  if (op.getNumReductionLoops() > 0)
    return reduction(op, loops, point);
  Pack start;
  if (!op.getRegionOutputArgs().front().use_empty())
    start = at(op.getDpsInits().front(), point);
  return body(op, loops, start);
}

/// One loop after the other, in each point on its own. The innermost loops of few elements are
/// written out: what they read is then on its way at once.
Pack PointWriter::reduction(linalg::GenericOp op, Point loops, ArrayRef<AffineExpr> point) {
  Location loc = kernel.loc();
  Pack sums = at(op.getDpsInits().front(), point);
  unsigned dim = llvm::find(loops, AffineExpr()) - loops.begin();
  std::function<Pack(unsigned, Pack)> nest = [&](unsigned from, Pack start) -> Pack {
    while (from < loops.size() && op.getIteratorTypesArray()[from] != IteratorType::reduction)
      ++from;
    if (from == loops.size())
      return accumulate(op, loops, start);
    if (elementsFrom(op, from) <= kMaxWrittenOut)
      return window(op, loops, from, start);
    AffineExpr size = loopSize(op, from);
    if (!size)
      return refuse(op, storedElementOf(op.getResult(0)), "a loop of unknown size");
    auto loop = b.create<scf::ForOp>(loc, kernel.number(0), value(size), kernel.number(1), start);
    Scope scope(*this);
    b.setInsertionPointToStart(loop.getBody());
    loops[from] = addCoordinate(loop.getInductionVar());
    Pack next = nest(from + 1, Pack(loop.getRegionIterArgs()));
    b.create<scf::YieldOp>(loc, next);
    return Pack(loop.getResults());
  };
  return nest(dim, sums);
}

/// The loops from `from` on, written out.
Pack PointWriter::window(linalg::GenericOp op, Point &loops, unsigned from, Pack sums) {
  SmallVector<unsigned> dims;
  op.getReductionDims(dims);
  llvm::erase_if(dims, [&](unsigned dim) { return dim < from; });
  std::function<void(size_t)> visit = [&](size_t i) {
    if (i == dims.size()) {
      sums = accumulate(op, loops, sums);
      return;
    }
    int64_t size = *constantValue(loopSize(op, dims[i]));
    for (int64_t place = 0; place < size; ++place) {
      loops[dims[i]] = constantDim(place, kernel.context());
      visit(i + 1);
    }
  };
  visit(0);
  return sums;
}

Pack PointWriter::accumulate(linalg::GenericOp op, ArrayRef<AffineExpr> loops,
                             const Pack &accumulators) {
  return body(op, loops, accumulators);
}

Pack PointWriter::body(linalg::GenericOp op, ArrayRef<AffineExpr> loops,
                       ArrayRef<Value> accumulators) {
  SmallVector<Pack> inputs;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(operand);
    Pack &elements = inputs.emplace_back();
    if (argument.use_empty())
      continue;
    if (!isa<RankedTensorType>(operand->get().getType())) {
      IRMapping none;
      elements.assign(laneCount, captured(operand->get(), none));
      continue;
    }
    Point read;
    for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults())
      read.push_back(expr.replaceDims(loops));
    elements = at(operand->get(), read);
  }
  Pack result;
  Block *block = op.getBody();
  for (unsigned lane = 0; lane < laneCount; ++lane) {
    IRMapping mapping(state.scalars);
    for (auto [argument, elements] : llvm::zip(op.getRegionInputArgs(), inputs))
      if (!elements.empty())
        mapping.map(argument, elements[lane]);
    if (!accumulators.empty())
      mapping.map(op.getRegionOutputArgs().front(), accumulators[lane]);
    for (Operation &inner : block->without_terminator())
      cloneBody(inner, mapping, loops, lane);
    result.push_back(captured(block->getTerminator()->getOperand(0), mapping));
  }
  return result;
}

void PointWriter::cloneBody(Operation &op, IRMapping &mapping, ArrayRef<AffineExpr> loops,
                            unsigned lane) {
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    mapping.map(index.getResult(), value(loops[index.getDim()], lane));
    return;
  }
  if (auto size = dyn_cast<hr::SizeOp>(op)) {
    mapping.map(size.getResult(), kernel.size(size.getExpr().getResult(0)));
    return;
  }
  if (auto element = dyn_cast<tensor::ExtractOp>(op)) {
    Point point;
    for (Value index : element.getIndices())
      point.push_back(addCoordinate(captured(index, mapping)));
    mapping.map(element.getResult(), single(element.getTensor(), point).front());
    return;
  }
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return cloneLoop(loop, mapping, loops, lane);
  for (Value operand : op.getOperands())
    mapping.map(operand, captured(operand, mapping));
  Operation *copy = b.clone(op, mapping);
  // Regions of branches read what is outside as well.
  copy->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      if (!copy->getParentRegion()->isAncestor(operand.get().getParentRegion()))
        operand.set(captured(operand.get(), mapping));
  });
}

void PointWriter::cloneLoop(scf::ForOp loop, IRMapping &mapping, ArrayRef<AffineExpr> loops,
                            unsigned lane) {
  Location loc = kernel.loc();
  SmallVector<Value> initial;
  for (Value start : loop.getInitArgs())
    initial.push_back(captured(start, mapping));
  auto copy = b.create<scf::ForOp>(loc, captured(loop.getLowerBound(), mapping),
                                   captured(loop.getUpperBound(), mapping),
                                   captured(loop.getStep(), mapping), initial);
  {
    Scope scope(*this);
    b.setInsertionPointToStart(copy.getBody());
    IRMapping inside(mapping);
    inside.map(loop.getBody()->getArguments(), copy.getBody()->getArguments());
    for (Operation &inner : loop.getBody()->without_terminator())
      cloneBody(inner, inside, loops, lane);
    SmallVector<Value> next;
    for (Value value : loop.getBody()->getTerminator()->getOperands())
      next.push_back(captured(value, inside));
    b.create<scf::YieldOp>(loc, next);
  }
  mapping.map(loop.getResults(), copy.getResults());
}

Pack PointWriter::single(Value tensor, ArrayRef<AffineExpr> point) {
  AffineExpr lane = laneExpr;
  unsigned count = laneCount, multiple = laneMultiple;
  setLanes({}, 1);
  Pack result = at(tensor, point);
  setLanes(lane, count, multiple);
  return result;
}

/// A number of the kernel as the device function has it.
Value PointWriter::captured(Value given, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(given))
    return known;
  if (Value known = state.scalars.lookupOrNull(given))
    return known;
  Operation *op = given.getDefiningOp();
  bool isAround = given.getParentRegion()->isAncestor(b.getInsertionBlock()->getParent());
  if (!op && isAround)
    return given; // what counts a loop around this one
  if (!op)
    return refuse(given.getParentBlock()->getParentOp(), storedAs(given.getType()),
                  "a scalar from outside of the kernel")
        .front();
  if (!isa<tensor::ExtractOp, linalg::IndexOp>(op) && isAround)
    return given; // already of the device function
  cloneBody(*op, mapping, {}, 0);
  return mapping.lookup(given);
}

} // namespace headrace::cuda
