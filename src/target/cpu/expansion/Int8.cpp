// Products and convolutions of 8-bit integers by our own routines. Before:
//   %c = hr.contract %a, %w maps [...] {accumulator = i32, unsigned_lhs} : (i8, i8) -> i32
// After:
//   %c = hr.library "int8.gemm" (%a, %w)
#include "dialect/SymbolicShape.h"
#include "runtime/library/ByteProduct.h"
#include "target/cpu/expansion/Expansions.h"
#include "target/cpu/expansion/Patches.h"
#include "target/expansion/LibraryContraction.h"
#include "target/expansion/ProductShape.h"

using namespace mlir;

namespace headrace {
namespace {

/// Its speed, in units of products in f32.
double speed() { return bytes::bestKind() == bytes::Kind::DotProducts ? 3.5 : 1.5; }

/// One call of our own routine, without its first accesses to operands.
Work workOf(const ProductShape &shape) {
  Work work = LibraryContraction::callWork(shape, DType::F32);
  work.kernelCalls = 1;
  work.libraryCalls = 0;
  work.arithmetic.front().efficiency = speed();
  return work;
}

/// Whether it is one of the routines of that product, packed or with an epilogue or not.
bool isRoutine(const LibraryCall &call, StringRef product) {
  return call.routine.starts_with("int8.") && call.routine.ends_with(product);
}

/// Patches of an image are written and read again while they are in cache.
void movePatches(Work &work, const ProductShape &shape, const Machine &machine) {
  work.move(2 * shape.batch * shape.rows * shape.depth, machine.rates.coreCacheBytes / 2);
}

template <class Product> bool isOfBytes(Product op) {
  return getElementTypeOrSelf(op.getType()).isSignlessInteger(32) &&
         llvm::all_of(op->getOperandTypes(),
                      [](Type type) { return getElementTypeOrSelf(type).isSignlessInteger(8); });
}

class Int8Contraction final : public LibraryContraction {
public:
  StringRef name() const override { return "int8"; }

  bool applies(Operation *operation, const Machine &) const override {
    auto op = dyn_cast<hr::ContractOp>(operation);
    return op && isOfBytes(op) && asMatrixProduct(op);
  }

  Work work(Operation *operation, const Machine &) const override {
    auto op = cast<hr::ContractOp>(operation);
    Work work = workOf(productShape(op, sizeHints(op)));
    addMovement(work, op);
    return work;
  }

  std::optional<Work> workOfCall(const LibraryCall &call, const Machine &) const override {
    if (!isRoutine(call, "gemm"))
      return std::nullopt;
    return workOf(shapeOfCall(call));
  }

private:
  StringRef routine(hr::ContractOp) const override { return "int8.gemm"; }

  SmallVector<AffineExpr> furtherParameters(hr::ContractOp op) const override {
    return {constantDim(op.getUnsignedLhs(), op.getContext()),
            constantDim(op.getUnsignedRhs(), op.getContext())};
  }
};

/// Our own routine gathers the image's patches as it multiplies them by the filter.
class Int8Convolution final : public Expansion {
public:
  StringRef name() const override { return "int8"; }

  bool applies(Operation *operation, const Machine &) const override {
    auto op = dyn_cast<hr::ConvOp>(operation);
    return op && isOfBytes(op) && op.getLayout() == hr::ChannelLayout::Last &&
           op.getGroups() == 1 && !op.isPadded() && op.getStrides().size() <= BytePatches::rank;
  }

  Work work(Operation *operation, const Machine &machine) const override {
    auto op = cast<hr::ConvOp>(operation);
    ProductShape shape = productShape(op, sizeHints(op));
    Work work = workOf(shape);
    LibraryContraction::addMovement(work, op);
    movePatches(work, shape, machine);
    return work;
  }

  std::optional<Work> workOfCall(const LibraryCall &call, const Machine &machine) const override {
    if (isRoutine(call, "depthwise")) {
      // Windows over each channel use no operand for several results.
      Work work;
      work.arithmetic.push_back({OperationKind::Window, DType::F32, call.operations, speed()});
      work.parts = std::max(1.0, call.parameter(1));
      return work;
    }
    if (!isRoutine(call, "conv"))
      return std::nullopt;
    ProductShape shape = LibraryContraction::shapeOfCall(call);
    Work work = workOf(shape);
    movePatches(work, shape, machine);
    return work;
  }

  void rewrite(Operation *operation, const Machine &, RewriterBase &rewriter) const override {
    auto op = cast<hr::ConvOp>(operation);
    MLIRContext *context = op.getContext();
    auto type = [](Value value) { return cast<RankedTensorType>(value.getType()); };
    AffineExpr bytesRead = byteCount(type(op.getInput())) + byteCount(type(op.getFilter()));
    AffineMap cost = symbolMap({bytesRead, byteCount(type(op.getResult())),
                                hr::OperatorInterface(op).getMovement().operations(context)},
                               context);
    std::string name = operatorName(op);
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<hr::LibraryOp>(
        op, op.getType(), ValueRange{op.getInput(), op.getFilter()},
        rewriter.getStringAttr("int8.conv"),
        AffineMapAttr::get(symbolMap(parametersOf(op), context)), rewriter.getStringAttr(name),
        rewriter.getStrArrayAttr({name}), AffineMapAttr::get(cost));
  }

private:
  /// Parameters of the product of all patches with the filter, then those of BytePatches.
  static SmallVector<AffineExpr> parametersOf(hr::ConvOp op) {
    MLIRContext *context = op.getContext();
    auto number = [&](int64_t value) { return constantDim(value, context); };
    SymbolicShape filter = shapeOf(op.getFilter()), result = shapeOf(op.getResult());
    auto productOf = [&](ArrayRef<AffineExpr> sizes) {
      AffineExpr product = number(1);
      for (AffineExpr size : sizes)
        product = product * size;
      return product;
    };
    AffineExpr m = productOf(ArrayRef(result).drop_back());
    AffineExpr n = filter.back(), k = productOf(ArrayRef(filter).drop_back());
    AffineExpr zero = number(0), one = number(1);
    SmallVector<AffineExpr> parameters{one,
                                       m,
                                       n,
                                       k,
                                       zero,
                                       zero,
                                       zero,
                                       zero,
                                       zero,
                                       k,
                                       n,
                                       n,
                                       number(op.getUnsignedInput()),
                                       number(op.getUnsignedFilter())};
    llvm::append_range(parameters, patchParameters(op));
    return parameters;
  }
};

} // namespace

const Expansion &int8Contraction() {
  static const Int8Contraction expansion;
  return expansion;
}

const Expansion &int8Convolution() {
  static const Int8Convolution expansion;
  return expansion;
}

} // namespace headrace
