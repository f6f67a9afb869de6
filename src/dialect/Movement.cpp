// Data movement of every operator.
#include "dialect/Movement.h"

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {

AffineExpr Movement::operations(MLIRContext *context) const {
  return elementCount(domain, context) * operationsPerPoint;
}

namespace hr {

/// The movement of an operator that computes each result element on its own; no maps yet.
static Movement overResult(Value result) {
  Movement m;
  m.domain = shapeOf(result);
  m.iterators.assign(m.domain.size(), IteratorType::parallel);
  return m;
}

static AffineMap identityMap(Value value) {
  return AffineMap::getMultiDimIdentityMap(cast<RankedTensorType>(value.getType()).getRank(),
                                           value.getContext());
}

/// The map that reads `operand` broadcast to a domain of `rank` dimensions.
static AffineMap broadcastMap(Value operand, unsigned rank) {
  MLIRContext *context = operand.getContext();
  SymbolicShape shape = shapeOf(operand);
  SmallVector<AffineExpr> exprs;
  for (auto [i, dim] : llvm::enumerate(shape))
    exprs.push_back(constantValue(dim) == 1 ? constantDim(0, context)
                                            : getAffineDimExpr(rank - shape.size() + i, context));
  return AffineMap::get(rank, 0, exprs, context);
}

Movement ConstantOp::getMovement() { return {}; }

Movement MapOp::getMovement() {
  Movement m = overResult(getResult());
  for (Value input : getInputs())
    m.maps.push_back(broadcastMap(input, m.domain.size()));
  m.maps.push_back(identityMap(getResult()));
  for (Operation &op : getBody().front().without_terminator())
    m.operationsPerPoint += !isa<arith::ConstantOp, SizeOp>(op);
  return m;
}

Movement ReduceOp::getMovement() {
  Movement m;
  m.domain = shapeOf(getInput());
  m.operationsPerPoint = 1;
  SmallVector<AffineExpr> result;
  for (size_t i = 0; i < m.domain.size(); ++i) {
    bool reduced = llvm::is_contained(getAxes(), static_cast<int64_t>(i));
    m.iterators.push_back(reduced ? IteratorType::reduction : IteratorType::parallel);
    if (!reduced)
      result.push_back(getAffineDimExpr(i, getContext()));
    else if (getKeepDims())
      result.push_back(constantDim(0, getContext()));
  }
  m.maps = {identityMap(getInput()), AffineMap::get(m.domain.size(), 0, result, getContext())};
  return m;
}

Movement ContractOp::getMovement() {
  Movement m;
  auto maps = getMaps().getAsValueRange<AffineMapAttr>();
  m.maps.assign(maps.begin(), maps.end());
  m.domain.resize(m.maps[0].getNumDims());
  m.iterators.assign(m.domain.size(), IteratorType::reduction);
  m.operationsPerPoint = 2;
  Value operands[] = {getLhs(), getRhs()};
  for (auto [map, value] : llvm::zip(m.maps, operands))
    for (auto [expr, size] : llvm::zip(map.getResults(), shapeOf(value)))
      m.domain[cast<AffineDimExpr>(expr).getPosition()] = size;
  for (AffineExpr expr : m.maps[2].getResults())
    m.iterators[cast<AffineDimExpr>(expr).getPosition()] = IteratorType::parallel;
  return m;
}

/// A convolution's movement, its maps those of input, filter and result. Domain: batch, outputs...,
/// group, feature of the group, window..., channel.
template <class Conv> static Movement convMovement(Conv op, Value filterValue, Value resultValue) {
  MLIRContext *context = op.getContext();
  SymbolicShape input = shapeOf(op.getInput()), filter = shapeOf(filterValue);
  SymbolicShape result = shapeOf(resultValue);
  unsigned spatial = input.size() - 2;
  bool first = op.getLayout() == ChannelLayout::First;
  int64_t groups = op.getGroups();
  AffineExpr groupChannels = first ? filter[1] : filter[spatial];
  AffineExpr features = first ? filter[0] : filter.back();

  Movement m;
  m.operationsPerPoint = 2;
  auto dim = [&](AffineExpr size, IteratorType kind) {
    m.domain.push_back(size);
    m.iterators.push_back(kind);
    return getAffineDimExpr(m.domain.size() - 1, context);
  };
  AffineExpr n = dim(input[0], IteratorType::parallel);
  SmallVector<AffineExpr> outputs, windows, positions;
  for (unsigned i = 0; i < spatial; ++i)
    outputs.push_back(dim(result[(first ? 2 : 1) + i], IteratorType::parallel));
  AffineExpr g = groups > 1 ? dim(constantDim(groups, context), IteratorType::parallel)
                            : constantDim(0, context);
  // Depthwise: the group is the feature.
  int64_t groupFeatures = *constantValue(features) / groups;
  AffineExpr f = groups > 1 && groupFeatures == 1
                     ? constantDim(0, context)
                     : dim(constantDim(groupFeatures, context), IteratorType::parallel);
  for (unsigned i = 0; i < spatial; ++i)
    windows.push_back(dim(filter[(first ? 2 : 0) + i], IteratorType::reduction));
  AffineExpr c = dim(groupChannels, IteratorType::reduction);
  for (unsigned i = 0; i < spatial; ++i)
    positions.push_back(outputs[i] * op.getStrides()[i] + windows[i] * op.getDilations()[i] -
                        op.getPads()[i]);

  AffineExpr channel = g * *constantValue(groupChannels) + c;
  AffineExpr feature = g * groupFeatures + f;
  SmallVector<AffineExpr> in{n}, weights, out{n};
  if (first) {
    in.push_back(channel);
    in.append(positions);
    weights.assign({feature, c});
    weights.append(windows);
    out.push_back(feature);
    out.append(outputs);
  } else {
    in.append(positions);
    in.push_back(channel);
    weights = windows;
    weights.append({c, feature});
    out.append(outputs);
    out.push_back(feature);
  }
  for (ArrayRef<AffineExpr> exprs : {ArrayRef(in), ArrayRef(weights), ArrayRef(out)})
    m.maps.push_back(AffineMap::get(m.domain.size(), 0, exprs, context));
  return m;
}

Movement ConvOp::getMovement() { return convMovement(*this, getFilter(), getResult()); }

/// The same pairs of elements; what the filter lacks is summed over.
Movement ConvFilterOp::getMovement() {
  Movement m = convMovement(*this, getResult(), getOutput());
  std::swap(m.maps[1], m.maps[2]);
  for (auto [i, kind] : llvm::enumerate(m.iterators))
    kind = m.maps[2].isFunctionOfDim(i) ? IteratorType::parallel : IteratorType::reduction;
  return m;
}

/// Domain of pooling: the result's dimensions, then the window's.
template <class Pool> static Movement poolMovement(Pool op, ArrayRef<AffineExpr> window) {
  MLIRContext *context = op.getContext();
  Movement m = overResult(op.getResult());
  unsigned rank = m.domain.size(), offset = op.getLayout() == ChannelLayout::First ? 2 : 1;
  m.operationsPerPoint = 1;
  SmallVector<AffineExpr> in;
  for (unsigned i = 0; i < rank; ++i)
    in.push_back(getAffineDimExpr(i, context));
  for (auto [i, size] : llvm::enumerate(window)) {
    m.domain.push_back(size);
    m.iterators.push_back(IteratorType::reduction);
    in[offset + i] = in[offset + i] * op.getStrides()[i] +
                     getAffineDimExpr(rank + i, context) * op.getDilations()[i] - op.getPads()[i];
  }
  unsigned dims = m.domain.size();
  m.maps = {AffineMap::get(dims, 0, in, context),
            AffineMap::getMultiDimIdentityMap(dims, context).getMajorSubMap(rank)};
  return m;
}

Movement PoolOp::getMovement() {
  SymbolicShape window;
  for (int64_t size : getWindow())
    window.push_back(constantDim(size, getContext()));
  return poolMovement(*this, window);
}

Movement PoolIndexOp::getMovement() {
  Movement m = poolMovement(*this, shapeOf(getPositions()));
  unsigned dims = m.domain.size(), spatial = getStrides().size();
  m.operationsPerPoint = 3;
  AffineMap position =
      AffineMap::getMultiDimIdentityMap(dims, getContext()).getMinorSubMap(spatial);
  AffineMap result = m.maps.back();
  m.maps = {m.maps.front(), result, position, result};
  return m;
}

/// As many points as its windows have elements; which ones meet an element depends on the strides.
Movement UnpoolOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps.assign(getNumOperands(), AffineMap());
  m.maps.push_back(identityMap(getResult()));
  m.operationsPerPoint = 1;
  for (auto [extent, stride] : llvm::zip(getWindow(), getStrides()))
    m.operationsPerPoint *= (extent + stride - 1) / stride;
  return m;
}

// Coarse operators: one pass over input and result; the finer operators say more.

Movement SoftmaxOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps = {AffineMap(), identityMap(getResult())};
  m.operationsPerPoint = 5;
  return m;
}

Movement DetachOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps = {identityMap(getResult()), identityMap(getResult())};
  return m;
}

Movement LayerNormOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps.assign(getNumOperands(), AffineMap());
  m.maps.push_back(identityMap(getResult()));
  m.operationsPerPoint = 8;
  return m;
}

Movement BatchNormOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps.assign(getNumOperands(), AffineMap());
  m.maps.front() = identityMap(getResult());
  m.maps.push_back(identityMap(getResult()));
  m.operationsPerPoint = 4;
  return m;
}

Movement TransposeOp::getMovement() {
  Movement m = overResult(getResult());
  AffineMap read = identityMap(getResult());
  // MLIR has no permutation of no dimensions.
  if (!getPermutation().empty()) {
    SmallVector<unsigned> permutation(getPermutation().begin(), getPermutation().end());
    read = inversePermutation(AffineMap::getPermutationMap(permutation, getContext()));
  }
  m.maps = {read, identityMap(getResult())};
  return m;
}

Movement ReshapeOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps = {AffineMap(), identityMap(getResult())};
  return m;
}

Movement BroadcastOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps = {broadcastMap(getInput(), m.domain.size()), identityMap(getResult())};
  return m;
}

Movement SliceOp::getMovement() {
  Movement m = overResult(getResult());
  SmallVector<AffineExpr> exprs;
  unsigned symbols = getStarts().getNumSymbols();
  for (auto [i, start] : llvm::enumerate(getStarts().getResults()))
    exprs.push_back(getAffineDimExpr(i, getContext()) * getSteps()[i] + start);
  m.maps = {AffineMap::get(m.domain.size(), symbols, exprs, getContext()),
            identityMap(getResult())};
  return m;
}

/// The result is walked as zeros, and the input's part of it once more.
Movement PlaceOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps = {AffineMap(), identityMap(getResult())};
  return m;
}

/// Rows go where the indices say.
Movement ScatterAddOp::getMovement() {
  Movement m = overResult(getUpdates());
  m.operationsPerPoint = 1;
  m.maps = {identityMap(getUpdates()), AffineMap::get(3, 0, getAffineDimExpr(1, getContext())),
            AffineMap()};
  return m;
}

Movement ConcatOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps.assign(getNumOperands(), AffineMap());
  m.maps.push_back(identityMap(getResult()));
  return m;
}

Movement PadOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps = {AffineMap(), identityMap(getResult())};
  return m;
}

Movement GatherOp::getMovement() {
  Movement m = overResult(getResult());
  auto indices = cast<RankedTensorType>(getIndices().getType()).getRank();
  SmallVector<AffineExpr> exprs;
  for (int64_t i = 0; i < indices; ++i)
    exprs.push_back(getAffineDimExpr(getAxis() + i, getContext()));
  m.maps = {AffineMap(), AffineMap::get(m.domain.size(), 0, exprs, getContext()),
            identityMap(getResult())};
  return m;
}

} // namespace hr
} // namespace headrace
