// Convolutions in f32 by cuDNN; CuDnnFused has those of halves.
#include "runtime/cuda/CuDnn.h"

#include "target/cuda/expansion/DeviceWork.h"
#include "target/cuda/expansion/Expansions.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace headrace::cuda {
namespace {

/// cuDNN's convolution of images with channels last; it wants its filters so, too:
///   %t = hr.transpose %filter [3, 0, 1, 2]  // [kh, kw, c, k] -> [k, kh, kw, c]
///   %y = hr.library "cudnn.conv"(%x, %t)
class CuDnnConvolution final : public Expansion {
  static constexpr double kEfficiency = 0.7;

public:
  StringRef name() const override { return "cudnn"; }
  bool isHere() const override { return cuda::cuDnnAvailable(); }

  bool applies(Operation *operation, const Machine &) const override {
    auto op = dyn_cast<hr::ConvOp>(operation);
    return op && op.getLayout() == hr::ChannelLayout::Last && op.getGroups() == 1 &&
           shapeOf(op.getFilter()).size() == 4 &&
           llvm::all_of(op.getPads(), [](int64_t pad) { return pad == 0; }) &&
           getElementTypeOrSelf(op.getFilter()) == getElementTypeOrSelf(op.getInput()) &&
           getElementTypeOrSelf(op.getResult()) == getElementTypeOrSelf(op.getInput()) &&
           getElementTypeOrSelf(op.getInput()).isF32();
  }

  Work work(Operation *op, const Machine &machine) const override {
    return deviceLibraryWork(op, machine, kEfficiency);
  }

  std::optional<Work> workOfCall(const LibraryCall &call, const Machine &machine) const override {
    if (call.routine != "cudnn.conv")
      return std::nullopt;
    // Images, their channels, filters, the filter's and the result's height and width.
    double results = call.parameter(0) * call.parameter(4) * call.parameter(7) * call.parameter(8);
    double depth = call.parameter(3) * call.parameter(5) * call.parameter(6);
    return deviceCallWork(results, 2 * results * depth, call.type, machine, kEfficiency);
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

const Expansion &cuDnnConvolution() {
  static const CuDnnConvolution expansion;
  return expansion;
}

} // namespace headrace::cuda
