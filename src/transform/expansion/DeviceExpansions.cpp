// Libraries of a CUDA device: products of matrices by cuBLAS, convolutions by cuDNN.
#include "runtime/cuda/CuBlas.h"
#include "runtime/cuda/CuDnn.h"
#include "transform/expansion/ExpansionEstimates.h"
#include "transform/expansion/LibraryContraction.h"

using namespace mlir;

namespace headrace {
namespace {

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

bool isLibraryType(Type type) { return type.isF32() || type.isBF16() || type.isF16(); }

/// cuBLAS's product, in single precision (never less exact) or of halves.
class CuBlasContraction final : public LibraryContraction {
public:
  StringRef name() const override { return "cublas"; }
  bool isHere() const override { return cuda::cuBlasAvailable(); }

  bool applies(Operation *operation, const Machine &machine) const override {
    auto op = dyn_cast<hr::ContractOp>(operation);
    if (!op || !machine.isDevice || !asMatrixProduct(op))
      return false;
    Type type = elementOf(op.getLhs()), result = elementOf(op.getResult());
    return elementOf(op.getRhs()) == type && isLibraryType(type) &&
           (result == type || result.isF32());
  }

  double estimate(Operation *operation, const Machine &) const override {
    auto op = cast<hr::ContractOp>(operation);
    return 2 + deviceMicroseconds(op, /*efficiency=*/1, /*tile=*/64) +
           unfusedBytes(op) / kDeviceBytesPerMicrosecond;
  }

private:
  StringRef routine() const override { return "cublas.gemm"; }
};

/// cuDNN's convolution of images with channels last; it wants its filters so, too:
///   %t = hr.transpose %filter [3, 0, 1, 2]  // [kh, kw, c, k] -> [k, kh, kw, c]
///   %y = hr.library "cudnn.conv"(%x, %t)
class CuDnnConvolution final : public Expansion {
public:
  StringRef name() const override { return "cudnn"; }
  bool isHere() const override { return cuda::cuDnnAvailable(); }

  bool applies(Operation *operation, const Machine &machine) const override {
    auto op = dyn_cast<hr::ConvOp>(operation);
    return op && machine.isDevice && op.getLayout() == hr::ChannelLayout::Last &&
           op.getGroups() == 1 && shapeOf(op.getFilter()).size() == 4 &&
           llvm::all_of(op.getPads(), [](int64_t pad) { return pad == 0; }) &&
           elementOf(op.getFilter()) == elementOf(op.getInput()) &&
           elementOf(op.getResult()) == elementOf(op.getInput()) &&
           isLibraryType(elementOf(op.getInput()));
  }

  double estimate(Operation *op, const Machine &) const override {
    double unfused = op->hasOneUse() ? 2 * bytesOf(op->getResult(0)) : 0;
    return 2 + deviceMicroseconds(op, /*efficiency=*/0.7, /*tile=*/64) +
           unfused / kDeviceBytesPerMicrosecond;
  }

  void rewrite(Operation *operation, const Machine &, RewriterBase &rewriter) const override {
    auto op = cast<hr::ConvOp>(operation);
    MLIRContext *context = op.getContext();
    rewriter.setInsertionPoint(op);
    Value filter = rewriter.create<hr::TransposeOp>(op.getLoc(), op.getFilter(),
                                                    ArrayRef<int64_t>{3, 0, 1, 2});
    SymbolicShape image = shapeOf(op.getInput()), window = shapeOf(op.getFilter()),
                  result = shapeOf(op.getResult());
    SmallVector<AffineExpr> parameters{image[0],  image[1],  image[2],  image[3], window[3],
                                       window[0], window[1], result[1], result[2]};
    for (ArrayRef<int64_t> values : {op.getStrides(), op.getDilations()})
      for (int64_t value : values)
        parameters.push_back(constantDim(value, context));
    auto bytes = [](Value value) { return byteCount(cast<RankedTensorType>(value.getType())); };
    AffineMap cost = symbolMap({bytes(op.getInput()) + bytes(op.getFilter()), bytes(op.getResult()),
                                op.getMovement().operations(context)},
                               context);
    std::string name = operatorName(op);
    rewriter.replaceOpWithNewOp<hr::LibraryOp>(
        op, op.getType(), ValueRange{op.getInput(), filter}, rewriter.getStringAttr("cudnn.conv"),
        AffineMapAttr::get(symbolMap(parameters, context)), rewriter.getStringAttr(name),
        rewriter.getStrArrayAttr({name}), AffineMapAttr::get(cost));
  }
};

} // namespace

ArrayRef<const Expansion *> deviceLibraryExpansions() {
  static const CuBlasContraction product;
  static const CuDnnConvolution convolution;
  static const Expansion *const all[] = {&product, &convolution};
  return all;
}

} // namespace headrace
