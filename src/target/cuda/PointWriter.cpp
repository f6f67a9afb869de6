#include "target/cuda/PointWriter.h"

#include "dialect/Hr.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace::cuda {
namespace {

constexpr unsigned kMostSymbols = 32;
constexpr unsigned kLoadBytes = 16; // the most that one instruction loads

/// What arithmetic works on: integers without a sign.
Type storedAs(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  return integer ? IntegerType::get(element.getContext(), integer.getWidth()) : element;
}

Type elementOf(Value tensor) {
  return storedAs(cast<RankedTensorType>(tensor.getType()).getElementType());
}

} // namespace

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
  return simplifyAffineExpr(expr, coordinates.size(), kMostSymbols);
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

//===--------------------------------------------------------------------------===//
// TensorMemory
//===--------------------------------------------------------------------------===//

PointWriter::Access PointWriter::accessOf(const TensorMemory &memory, ArrayRef<AffineExpr> point) {
  MLIRContext *context = kernel.context();
  AffineExpr offset = constantDim(0, context), stride = constantDim(1, context);
  for (auto [size, place] : llvm::reverse(llvm::zip_equal(memory.shape, point))) {
    offset = offset + place * stride;
    stride = stride * size;
  }
  offset = simplified(offset);
  Access access{offset, 1, std::nullopt};
  if (laneCount == 1)
    return access;
  access.step = constantValue(simplified(shifted(offset, 1) - offset));
  unsigned bits = memory.element.getIntOrFloatBitWidth();
  if (access.step != 1 || bits < 8)
    return access;
  AffineExpr rest = simplified(offset.replace(laneExpr, constantDim(0, context)));
  unsigned most = std::min(laneMultiple, kLoadBytes * 8 / bits);
  while (access.run * 2 <= most && rest.isMultipleOf(access.run * 2))
    access.run *= 2;
  return access;
}

Value PointWriter::elementAddress(const TensorMemory &memory, AffineExpr offset, unsigned lane) {
  Location loc = kernel.loc();
  Value base = kernel.address(memory.place, memory.written);
  Value index = b.create<arith::IndexCastUIOp>(loc, b.getI64Type(), value(offset, lane));
  return b.create<LLVM::GEPOp>(loc, base.getType(), storedAs(memory.element), base,
                               ArrayRef<LLVM::GEPArg>{index}, /*inbounds=*/true);
}

/// The address of a lane, from that of the first where lanes lie at equal distances.
Value PointWriter::laneAddress(const TensorMemory &memory, const Access &access, Value &first,
                               unsigned lane) {
  if (lane > 0 && first && access.step)
    return b.create<LLVM::GEPOp>(kernel.loc(), first.getType(), storedAs(memory.element), first,
                                 ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(lane * *access.step)},
                                 /*inbounds=*/true);
  Value address = elementAddress(memory, access.offset, lane);
  if (lane == 0)
    first = address;
  return address;
}

Pack PointWriter::load(const TensorMemory &memory, ArrayRef<AffineExpr> point) {
  Location loc = kernel.loc();
  Access access = accessOf(memory, point);
  Type element = storedAs(memory.element);
  unsigned bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
  Pack result;
  Value first;
  for (unsigned lane = 0; lane < laneCount; lane += access.run) {
    if (access.step == 0 && lane > 0) {
      result.push_back(result.front());
      continue;
    }
    Value address = laneAddress(memory, access, first, lane);
    if (access.run == 1) {
      result.push_back(b.create<LLVM::LoadOp>(loc, element, address, bytes));
      continue;
    }
    auto type = VectorType::get(access.run, element);
    Value loaded = b.create<LLVM::LoadOp>(loc, type, address, bytes * access.run);
    for (unsigned i = 0; i < access.run; ++i)
      result.push_back(b.create<LLVM::ExtractElementOp>(
          loc, loaded, b.create<LLVM::ConstantOp>(loc, b.getI32Type(), b.getI32IntegerAttr(i))));
  }
  return result;
}

void PointWriter::store(const TensorMemory &memory, ArrayRef<AffineExpr> point,
                        const Pack &values) {
  Location loc = kernel.loc();
  Access access = accessOf(memory, point);
  Type element = storedAs(memory.element);
  unsigned bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
  Value first;
  for (unsigned lane = 0; lane < laneCount; lane += access.run) {
    Value stored = values[lane];
    if (access.run > 1) {
      stored = b.create<LLVM::UndefOp>(loc, VectorType::get(access.run, element));
      for (unsigned i = 0; i < access.run; ++i)
        stored = b.create<LLVM::InsertElementOp>(
            loc, stored, values[lane + i],
            b.create<LLVM::ConstantOp>(loc, b.getI32Type(), b.getI32IntegerAttr(i)));
    }
    b.create<LLVM::StoreOp>(loc, stored, laneAddress(memory, access, first, lane),
                            bytes * access.run);
  }
}

//===--------------------------------------------------------------------------===//
// Values
//===--------------------------------------------------------------------------===//

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
    // What a loop carries, at the point it carries it for.
    Point same;
    for (AffineExpr expr : point)
      same.push_back(simplified(expr.replace(state.equal)));
    auto known = state.points.find(keyOf(tensor, same));
    if (known == state.points.end())
      return refuse(tensor.getParentBlock()->getParentOp(), elementOf(tensor),
                    "a loop reads what it carries at another point");
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
      .Case([&](tensor::EmptyOp empty) { return zeros(elementOf(empty)); })
      .Case([&](tensor::PadOp pad) { return this->pad(pad, point); })
      .Case([&](tensor::ExtractSliceOp slice) { return this->slice(slice, point); })
      .Case([&](tensor::InsertSliceOp insert) { return insertion(insert, point); })
      .Case([&](tensor::CastOp cast) { return at(cast.getSource(), point); })
      .Case([&](scf::ForOp loop) { return this->loop(loop, point); })
      .Default([&](Operation *other) {
        return refuse(other, elementOf(other->getResult(0)), "no rule for this operation");
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
    return refuse(op, elementOf(op.getResult(0)), "its result is written in no plain order");
  if (op.getNumReductionLoops() > 0)
    return reduction(op, loops, point);
  Pack start;
  if (!op.getRegionOutputArgs().front().use_empty())
    start = at(op.getDpsInits().front(), point);
  return body(op, loops, start);
}

/// One loop after the other, in each point on its own.
Pack PointWriter::reduction(linalg::GenericOp op, Point loops, ArrayRef<AffineExpr> point) {
  Location loc = kernel.loc();
  Pack sums = at(op.getDpsInits().front(), point);
  unsigned dim = llvm::find(loops, AffineExpr()) - loops.begin();
  std::function<Pack(unsigned, Pack)> nest = [&](unsigned from, Pack start) -> Pack {
    while (from < loops.size() && op.getIteratorTypesArray()[from] != IteratorType::reduction)
      ++from;
    if (from == loops.size())
      return accumulate(op, loops, start);
    AffineExpr size = loopSize(op, from);
    if (!size)
      return refuse(op, elementOf(op.getResult(0)), "a loop of unknown size");
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
  if (!op)
    return refuse(given.getParentBlock()->getParentOp(), storedAs(given.getType()),
                  "a number from outside")
        .front();
  if (!isa<tensor::ExtractOp, linalg::IndexOp>(op) &&
      op->getParentRegion()->isAncestor(b.getInsertionBlock()->getParent()))
    return given; // already of the device function
  cloneBody(*op, mapping, {}, 0);
  return mapping.lookup(given);
}

//===--------------------------------------------------------------------------===//
// Parts of tensors
//===--------------------------------------------------------------------------===//

/// An offset as an expression; a number that is computed in a loop becomes a coordinate.
AffineExpr PointWriter::offsetExpr(OpFoldResult offset) {
  if (AffineExpr expr = sizeExpr(offset, kernel.context()))
    return expr;
  Value number = cast<Value>(offset);
  AffineExpr &known = state.offsets[number];
  if (!known)
    known = addCoordinate(captured(number, state.scalars));
  return known;
}

Pack PointWriter::pad(tensor::PadOp op, ArrayRef<AffineExpr> point) {
  Location loc = kernel.loc();
  auto source = kernelShape(op.getSource());
  Value fill = op.getConstantPaddingValue();
  Type type = elementOf(op);
  if (!source || !fill)
    return refuse(op, type, "padding of unknown size");
  Point inside;
  SmallVector<std::pair<AffineExpr, AffineExpr>> bounds; // distance from the beginning, size
  auto high = op.getMixedHighPad();
  for (auto [i, low] : llvm::enumerate(op.getMixedLowPad())) {
    AffineExpr first = offsetExpr(low);
    inside.push_back(point[i] - first);
    if (getConstantIntValue(low) != 0 || getConstantIntValue(high[i]) != 0)
      bounds.emplace_back(point[i] - first, (*source)[i]);
  }
  for (auto &[distance, size] : bounds)
    if (usesLanes({distance}))
      return laneByLane(op, point);
  if (bounds.empty())
    return at(op.getSource(), inside);
  // Below the beginning is far beyond the end, seen without a sign.
  Value holds;
  for (auto &[distance, size] : bounds) {
    Value one = less(distance, size);
    holds = holds ? b.create<arith::AndIOp>(loc, holds, one).getResult() : one;
  }
  return choose(
      holds, SmallVector<Type>(laneCount, type), [&] { return at(op.getSource(), inside); },
      [&] {
        IRMapping none;
        return Pack(laneCount, captured(fill, none));
      });
}

Pack PointWriter::slice(tensor::ExtractSliceOp op, ArrayRef<AffineExpr> point) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  auto offsets = op.getMixedOffsets(), strides = op.getMixedStrides();
  Point read;
  unsigned next = 0;
  for (unsigned i = 0; i < offsets.size(); ++i) {
    AffineExpr expr = offsetExpr(offsets[i]);
    if (!dropped.test(i))
      expr = expr + point[next++] * offsetExpr(strides[i]);
    read.push_back(expr);
  }
  return at(op.getSource(), read);
}

Pack PointWriter::insertion(tensor::InsertSliceOp op, ArrayRef<AffineExpr> point) {
  Location loc = kernel.loc();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  auto offsets = op.getMixedOffsets(), sizes = op.getMixedSizes(), strides = op.getMixedStrides();
  auto whole = kernelShape(op.getDest());
  Type type = elementOf(op);
  if (!whole)
    return refuse(op, type, "a part of unknown size");
  struct Bound {
    AffineExpr distance, size, stride;
  };
  SmallVector<Bound> bounds;
  Point inside;
  llvm::DenseMap<AffineExpr, AffineExpr> equal;
  for (unsigned i = 0; i < offsets.size(); ++i) {
    AffineExpr offset = offsetExpr(offsets[i]), size = offsetExpr(sizes[i]);
    AffineExpr stride = offsetExpr(strides[i]);
    AffineExpr distance = simplified(point[i] - offset);
    if (!dropped.test(i))
      inside.push_back(constantValue(stride) == 1 ? distance : distance.floorDiv(stride));
    if (constantValue(size) == 1)
      equal[offset] = point[i];
    if (constantValue(offset) == 0 && constantValue(stride) == 1 && sameSize(size, (*whole)[i]))
      continue;
    bounds.push_back({distance, size, stride});
    if (usesLanes({distance}))
      return laneByLane(op, point);
  }
  Value holds;
  auto require = [&](Value condition) {
    holds = holds ? b.create<arith::AndIOp>(loc, holds, condition).getResult() : condition;
  };
  for (Bound &bound : bounds) {
    require(less(bound.distance, bound.size * bound.stride));
    if (constantValue(bound.stride) != 1)
      require(less(bound.distance % bound.stride, constantDim(1, kernel.context())));
  }
  if (!holds)
    return at(op.getSource(), inside);
  return choose(
      holds, SmallVector<Type>(laneCount, type),
      [&] {
        for (auto [offset, same] : equal)
          if (isa<AffineDimExpr>(offset))
            state.equal[offset] = same;
        return at(op.getSource(), inside);
      },
      [&] { return at(op.getDest(), point); });
}

/// A loop over tensors, followed at one point.
Pack PointWriter::loop(scf::ForOp op, ArrayRef<AffineExpr> point) {
  Location loc = kernel.loc();
  if (op.getInitArgs().size() != 1)
    return refuse(op, elementOf(op.getResult(0)), "a loop that carries several tensors");
  Pack start = at(op.getInitArgs().front(), point);
  Value begin = captured(op.getLowerBound(), state.scalars);
  Value end = captured(op.getUpperBound(), state.scalars);
  Value step = captured(op.getStep(), state.scalars);
  auto copy = b.create<scf::ForOp>(loc, begin, end, step, start);
  Scope scope(*this);
  b.setInsertionPointToStart(copy.getBody());
  state.scalars.map(op.getInductionVar(), copy.getInductionVar());
  Point place;
  for (AffineExpr expr : point)
    place.push_back(simplified(expr));
  state.points[keyOf(op.getRegionIterArg(0), place)] = Pack(copy.getRegionIterArgs());
  Pack next = at(op.getBody()->getTerminator()->getOperand(0), point);
  b.create<scf::YieldOp>(loc, next);
  return Pack(copy.getResults());
}

} // namespace headrace::cuda
