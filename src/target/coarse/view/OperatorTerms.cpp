// Movement and reductions; the others have files of their own.
#include "target/coarse/view/OperatorTerms.h"

#include "dialect/SymbolicShape.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace headrace::coarse {

using rewrite::Shape;
using rewrite::ShapedTerm;

namespace {

class Writer {
public:
  Writer(Operation *op, rewrite::TermBuilder &builder, OperandTerms &operands,
         const BatchAxis &batch)
      : builder(builder), operands(operands), batch(batch), result(op->getResult(0)),
        first(op->getOperand(0)) {
    // A dimension that some of the operator's tensors have and others lack is one of one element.
    isBatched = batch.leads(result) && batch.leads(first);
    if (!isBatched && batch.isOpen() && (batch.leads(result) || batch.leads(first)))
      refuse("reorders the axis of dynamic dimension");
  }

  ShapedTerm transpose(hr::TransposeOp op) {
    std::vector<int64_t> order;
    for (int64_t dim : op.getPermutation())
      order.push_back(dim);
    if (!isBatched || order[0] != 0) {
      if (batch.isOpen() && isBatched)
        refuse("reorders the axis of dynamic dimension");
      return builder.reshaped(builder.permuted(full(first), order), batch.inner(result));
    }
    order.erase(order.begin());
    for (int64_t &dim : order)
      --dim;
    return builder.permuted(operands.of(first), order);
  }

  ShapedTerm reshape() { return builder.reshaped(operands.of(first), batch.inner(result)); }
  ShapedTerm broadcast() {
    return builder.broadcast(operands.compact(first), batch.inner(first), batch.inner(result));
  }

  ShapedTerm slice(hr::SliceOp op) {
    Shape sizes = batch.inner(result);
    ShapedTerm x = source(first);
    for (auto [i, step] : llvm::enumerate(op.getSteps())) {
      std::optional<int64_t> start = constantValue(op.getStarts().getResult(i));
      bool isOne = !isLeading(i) && sizes[i - offset()] == 1;
      if (!start || (step != 1 && !isOne && !(isLeading(i) && !batch.isOpen())))
        refuse("is not a contiguous slice with constant starts");
      if (!isLeading(i) && sizes[i - offset()] != x.shape[i - offset()])
        x = builder.apply("slice", {axisOf(x, i), *start, sizes[i - offset()]}, {x});
    }
    return builder.reshaped(x, sizes);
  }

  ShapedTerm concat(hr::ConcatOp op) {
    auto dim = static_cast<size_t>(op.getAxis());
    if (isLeading(dim))
      refuse("concatenates along the first axis, whose elements are computed one by one");
    ShapedTerm all = source(first);
    for (Value input : op.getInputs().drop_front())
      all = builder.apply("concat", {axisOf(all, dim)}, {all, source(input)});
    return builder.reshaped(all, batch.inner(result));
  }

  ShapedTerm pad(hr::PadOp op) {
    auto value = dyn_cast<FloatAttr>(op.getValue());
    if (!value || !value.getValue().isZero())
      refuse("pads with another number than zero");
    ShapedTerm x = source(first);
    for (auto [i, low, high] : llvm::enumerate(op.getLow(), op.getHigh())) {
      if (low < 0 || high < 0)
        refuse("pads by a negative number");
      if (low + high > 0)
        x = builder.apply("pad", {axisOf(x, i), low, high}, {x});
    }
    return builder.reshaped(x, batch.inner(result));
  }

  ShapedTerm reduce(hr::ReduceOp op) {
    ShapedTerm x = source(first);
    int64_t count = 1;
    SmallVector<int64_t> dims(op.getAxes());
    llvm::sort(dims, std::greater<>());
    for (int64_t dim : dims) {
      if (isLeading(static_cast<size_t>(dim)))
        continue; // of one element: the result has it, too
      int64_t axis = axisOf(x, static_cast<size_t>(dim));
      count *= rewrite::sizeOf(x.shape, axis);
      x = reducedAxis(op.getKind(), x, axis);
    }
    if (op.getKind() == hr::ReduceKind::Mean)
      x = builder.function(
          "mul",
          {x, builder.broadcast(operands.scalar(1.0 / static_cast<double>(count)), x.shape)});
    Shape shape = batch.inner(result);
    return shape.empty() ? x : builder.reshaped(x, shape);
  }

private:
  /// Whole axes are what machines reduce; the last is exchanged with another first.
  ShapedTerm reducedAxis(hr::ReduceKind kind, ShapedTerm x, int64_t axis) {
    if (axis == 1) {
      x = x.rank() == 1 ? builder.apply("repeat", {1, 1}, {x})
                        : builder.apply("transpose", {1, 2}, {x});
      axis = 2;
    }
    switch (kind) {
    case hr::ReduceKind::Sum:
    case hr::ReduceKind::Mean:
      return builder.reduce("add", axis, x);
    case hr::ReduceKind::Max:
      return builder.reduce("max", axis, x);
    case hr::ReduceKind::Min:
      return builder.reduce("min", axis, x);
    case hr::ReduceKind::Prod:
      return builder.reduce("mul", axis, x);
    }
    return x;
  }

  /// With all its dimensions; the leading one is of one element.
  ShapedTerm full(Value value) {
    ShapedTerm inner = operands.of(value);
    return batch.leads(value) ? builder.apply("repeat", {inner.rank() + 1, 1}, {inner}) : inner;
  }
  /// Without the leading dimension if the result is computed so, else with all.
  ShapedTerm source(Value value) {
    if (!isBatched)
      return full(value);
    ShapedTerm inner = operands.of(value);
    if (batch.leads(value))
      return inner;
    return builder.reshaped(inner, Shape(inner.shape.begin() + 1, inner.shape.end()));
  }
  size_t offset() const { return isBatched ? 1 : 0; }
  bool isLeading(size_t dim) const { return dim < offset(); }
  /// The axis of a source that is dimension `dim` of its value.
  int64_t axisOf(const ShapedTerm &x, size_t dim) const {
    return x.rank() - static_cast<int64_t>(dim - offset());
  }

  rewrite::TermBuilder &builder;
  OperandTerms &operands;
  const BatchAxis &batch;
  Value result, first;
  bool isBatched = false;
};

void requireFloats(Operation *op) {
  auto isF32 = [](Type type) { return getElementTypeOrSelf(type).isF32(); };
  if (!llvm::all_of(op->getOperandTypes(), isF32) || !llvm::all_of(op->getResultTypes(), isF32))
    refuse("computes in another type than f32");
}

} // namespace

ShapedTerm termOf(Operation *op, rewrite::TermBuilder &builder, OperandTerms &operands,
                  const BatchAxis &batch) {
  requireFloats(op);
  auto write = [&] { return Writer(op, builder, operands, batch); };
  return llvm::TypeSwitch<Operation *, ShapedTerm>(op)
      .Case([&](hr::MapOp map) { return mapTerm(map, builder, operands, batch); })
      .Case([&](hr::ContractOp product) { return contractTerm(product, builder, operands, batch); })
      .Case([&](hr::ConvOp conv) { return convTerm(conv, builder, operands, batch); })
      .Case([&](hr::PoolOp pool) { return poolTerm(pool, builder, operands, batch); })
      .Case([&](hr::TransposeOp move) { return write().transpose(move); })
      .Case([&](hr::ReshapeOp) { return write().reshape(); })
      .Case([&](hr::BroadcastOp) { return write().broadcast(); })
      .Case([&](hr::SliceOp move) { return write().slice(move); })
      .Case([&](hr::ConcatOp move) { return write().concat(move); })
      .Case([&](hr::PadOp move) { return write().pad(move); })
      .Case([&](hr::ReduceOp reduce) { return write().reduce(reduce); })
      .Default([](Operation *other) -> ShapedTerm {
        refuse("there is no term for " + other->getName().getStringRef());
      });
}

} // namespace headrace::coarse
