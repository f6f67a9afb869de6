#include "target/cuda/schedule/Reads.h"

#include "target/cuda/schedule/Schedule.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace::cuda {
namespace {

constexpr unsigned kMaxSymbols = 32;

class Follower {
public:
  explicit Follower(bool throughReductions) : throughReductions(throughReductions) {}

  void follow(Operation *op, const Point &point) {
    if (!llvm::is_contained(reads.computed, op))
      reads.computed.push_back(op);
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](linalg::GenericOp generic) { followGeneric(generic, point); })
        .Case([&](linalg::CopyOp copy) { read(copy.getInputs().front(), point); })
        .Case([&](tensor::CastOp cast) { read(cast.getSource(), point); })
        .Case([&](tensor::ExtractSliceOp slice) { followSlice(slice, point); })
        .Case([&](tensor::PadOp pad) { followPad(pad, point); })
        .Case<linalg::FillOp, tensor::EmptyOp>([](Operation *) {})
        .Default([&](Operation *other) {
          reads.complete = false;
          for (Value operand : other->getOperands())
            if (isa<RankedTensorType>(operand.getType()))
              followBlindly(operand);
        });
  }

  Reads reads;

private:
  void read(Value value, Point point) {
    for (AffineExpr &expr : point)
      expr = simplifyAffineExpr(expr, reads.dims, kMaxSymbols);
    Operation *op = value.getDefiningOp();
    if (!op || isa<bufferization::ToTensorOp>(op) || op->hasAttr(kScheduleAttr)) {
      reads.memory.push_back({value, point});
      return;
    }
    follow(op, point);
  }

  void followGeneric(linalg::GenericOp op, const Point &point) {
    Point loops = loopsAt(op, point);
    if (loops.empty() && op.getNumLoops() > 0) {
      reads.complete = false;
      return;
    }
    if (op.getNumReductionLoops() > 0) {
      reads.reductions.push_back({op.getResult(0), point});
      if (!throughReductions)
        return;
    }
    for (AffineExpr &loop : loops)
      if (!loop)
        loop = getAffineDimExpr(reads.dims++, op.getContext());
    for (OpOperand *operand : op.getDpsInputOperands()) {
      if (op.getMatchingBlockArgument(operand).use_empty() ||
          !isa<RankedTensorType>(operand->get().getType()))
        continue;
      Point place;
      for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults())
        place.push_back(expr.replaceDims(loops));
      read(operand->get(), place);
    }
    if (!op.getRegionOutputArgs().front().use_empty())
      read(op.getDpsInits().front(), point);
    // Elements picked by index: anywhere.
    op.getBody()->walk([&](tensor::ExtractOp element) {
      Point place;
      for (size_t i = 0; i < element.getIndices().size(); ++i)
        place.push_back(getAffineDimExpr(reads.dims++, op.getContext()));
      read(element.getTensor(), place);
    });
  }

  void followSlice(tensor::ExtractSliceOp op, const Point &point) {
    llvm::SmallBitVector dropped = op.getDroppedDims();
    auto offsets = op.getMixedOffsets(), strides = op.getMixedStrides();
    Point place;
    unsigned next = 0;
    for (unsigned i = 0; i < offsets.size(); ++i) {
      AffineExpr expr = sizeExpr(offsets[i], op.getContext());
      AffineExpr stride = sizeExpr(strides[i], op.getContext());
      if (!expr || !stride) {
        reads.complete = false;
        expr = stride = constantDim(0, op.getContext());
      }
      if (!dropped.test(i))
        expr = expr + point[next++] * stride;
      place.push_back(expr);
    }
    read(op.getSource(), place);
  }

  void followPad(tensor::PadOp op, const Point &point) {
    Point place;
    for (auto [low, expr] : llvm::zip(op.getMixedLowPad(), point)) {
      AffineExpr first = sizeExpr(low, op.getContext());
      if (!first) {
        reads.complete = false;
        first = constantDim(0, op.getContext());
      }
      place.push_back(expr - first);
    }
    read(op.getSource(), place);
  }

  /// The operands of an operation of another kind: read anywhere.
  void followBlindly(Value value) {
    Point anywhere;
    for (int64_t i = 0; i < cast<RankedTensorType>(value.getType()).getRank(); ++i)
      anywhere.push_back(getAffineDimExpr(reads.dims++, value.getContext()));
    if (isa<OpResult>(value))
      read(value, anywhere);
  }

  bool throughReductions;
};

} // namespace

Point resultPoint(Operation *op) {
  Point point;
  for (int64_t i = 0; i < cast<RankedTensorType>(op->getResult(0).getType()).getRank(); ++i)
    point.push_back(getAffineDimExpr(i, op->getContext()));
  return point;
}

Reads readsOf(Operation *op, bool throughReductions) {
  Follower follower(throughReductions);
  Point point = resultPoint(op);
  follower.reads.dims = point.size();
  follower.follow(op, point);
  return std::move(follower.reads);
}

std::optional<int64_t> strideAlong(const Read &read, unsigned dim) {
  auto shape = kernelShape(read.value);
  if (!shape)
    return std::nullopt;
  MLIRContext *context = read.value.getContext();
  AffineExpr offset = constantDim(0, context), stride = constantDim(1, context);
  for (auto [size, place] : llvm::reverse(llvm::zip_equal(*shape, read.point))) {
    offset = offset + place * stride;
    stride = stride * size;
  }
  AffineExpr position = getAffineDimExpr(dim, context);
  AffineExpr step = offset.replace(position, position + 1) - offset;
  return constantValue(simplifyAffineExpr(step, 64, kMaxSymbols));
}

std::optional<Read> transposedRead(Operation *op) {
  Reads reads = readsOf(op);
  unsigned rank = cast<RankedTensorType>(op->getResult(0).getType()).getRank();
  if (!reads.complete || !reads.reductions.empty() || rank < 2)
    return std::nullopt;
  std::optional<Read> transposed;
  for (const Read &read : reads.memory) {
    std::optional<int64_t> stride = strideAlong(read, rank - 1);
    if (stride == 0 || stride == 1)
      continue;
    bool isReadOnce = llvm::count_if(reads.memory, [&](const Read &other) {
                        return other.value == read.value;
                      }) == 1;
    if (transposed || !isReadOnce)
      return std::nullopt;
    transposed = read;
  }
  return transposed;
}

} // namespace headrace::cuda
