// Convolutions and products of matrices in f16 and bf16 by cuDNN, with what follows them:
//   %p = hr.pad %x ; %c = hr.conv %p, %w ; %b = hr.map(%c, %bias) { addf } ; %y = hr.map(%b) {
//   maximumf 0 }
// becomes
//   %t = hr.transpose %w [3, 0, 1, 2]  // [kh, kw, c, k] -> [k, kh, kw, c]
//   %y = hr.library "cudnn.convolution"(%x, %t, %bias)
// A product of matrices is a convolution by windows of one element.
#include "analysis/MatrixProduct.h"
#include "dialect/scalar/HalfPrecision.h"
#include "runtime/cuda/CuDnnGraph.h"
#include "target/cuda/expansion/DeviceWork.h"
#include "target/cuda/expansion/Epilogue.h"
#include "target/cuda/expansion/Expansions.h"
#include "transform/common/OperatorBuilders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace headrace::cuda {
namespace {

/// Channels go to tensor cores 16 bytes at a time.
constexpr int64_t kChannels = 8;

Type elementOf(Value value) { return getElementTypeOrSelf(value); }

/// What a call reads, and its sizes.
struct Convolution {
  Value image, filter; // with channels last: [n, h, w, c], [k, kh, kw, c], or of fewer dimensions
  SmallVector<AffineExpr> sizes; // n, h, w, c, k, kh, kw, oh, ow
  SmallVector<int64_t> strides{1, 1}, dilations{1, 1}, low{0, 0}, high{0, 0};
};

/// Dimensions of a filter that is stored as [kh, kw, c, k] in the order [k, kh, kw, c].
Value channelsLast(OpBuilder &b, Value filter) {
  SmallVector<int64_t> order{3, 0, 1, 2};
  if (auto turned = filter.getDefiningOp<hr::TransposeOp>()) {
    SmallVector<int64_t> composed;
    for (int64_t dim : order)
      composed.push_back(turned.getPermutation()[dim]);
    return transposed(b, filter.getLoc(), turned.getInput(), composed);
  }
  return transposed(b, filter.getLoc(), filter, order);
}

/// [c, k] as [k, c]; of a filter of one element that was made a matrix, as it was stored.
Value columnsFirst(OpBuilder &b, Value matrix) {
  SymbolicShape shape = shapeOf(matrix), turned{shape[1], shape[0]};
  if (auto flat = matrix.getDefiningOp<hr::ReshapeOp>()) {
    SymbolicShape whole = shapeOf(flat.getInput());
    if (whole.size() == 4 && sameSize(whole[2], shape[0]) && sameSize(whole[3], shape[1]))
      return reshaped(b, matrix.getLoc(), channelsLast(b, flat.getInput()), turned);
  }
  if (auto before = matrix.getDefiningOp<hr::TransposeOp>())
    return before.getInput();
  return transposed(b, matrix.getLoc(), matrix, {1, 0});
}

class CuDnnFused : public Expansion {
public:
  StringRef name() const override { return "cudnn"; }
  bool isHere() const override { return cuda::cuDnnGraphAvailable(); }

  Work work(Operation *op, const Machine &machine) const override {
    Work work = deviceWork(op, machine, kEfficiency, kTile);
    // The call is one launch of a kernel. What it does not compute of what follows is another.
    Value result = epilogueOf(op).result(op);
    if (result.hasOneUse() && isa<hr::MapOp>(*result.user_begin())) {
      double bytes = bytesAtHints(result, sizeHints(op));
      work.move(2 * bytes, 2 * bytes);
    }
    return work;
  }

  std::optional<Work> workOfCall(const LibraryCall &call, const Machine &machine) const override {
    if (call.routine != "cudnn.convolution")
      return std::nullopt;
    double results = call.parameter(0) * call.parameter(4) * call.parameter(7) * call.parameter(8);
    double depth = call.parameter(3) * call.parameter(5) * call.parameter(6);
    Work work = deviceCallWork(results, 2 * results * depth, call.type, machine, kEfficiency);
    work.libraryCalls = 0;
    work.kernelCalls = 1;
    return work;
  }

  void rewrite(Operation *op, const Machine &, RewriterBase &rewriter) const override {
    Epilogue epilogue = epilogueOf(op);
    Value result = epilogue.result(op);
    Operation *last = result.getDefiningOp();
    rewriter.setInsertionPoint(last);
    Convolution conv = convolutionOf(op, rewriter);
    SmallVector<Value> operands{conv.image, conv.filter};
    if (epilogue.bias)
      operands.push_back(inSingle(rewriter, epilogue.bias));
    if (epilogue.residual)
      operands.push_back(epilogue.residual);

    MLIRContext *context = op->getContext();
    SmallVector<AffineExpr> parameters = conv.sizes;
    for (ArrayRef<int64_t> values : {ArrayRef(conv.strides), ArrayRef(conv.dilations),
                                     ArrayRef(conv.low), ArrayRef(conv.high)})
      for (int64_t value : values)
        parameters.push_back(constantDim(value, context));
    for (int64_t value : {static_cast<int64_t>(epilogue.bias != nullptr),
                          static_cast<int64_t>(epilogue.residual != nullptr),
                          static_cast<int64_t>(epilogue.activation)})
      parameters.push_back(constantDim(value, context));
    auto bytes = [](Value value) { return byteCount(cast<RankedTensorType>(value.getType())); };
    AffineExpr read = constantDim(0, context);
    for (Value operand : operands)
      read = read + bytes(operand);
    AffineMap cost = symbolMap(
        {read, bytes(result), cast<hr::OperatorInterface>(op).getMovement().operations(context)},
        context);
    std::string name = operatorName(op);
    SmallVector<std::string> names{name};
    for (hr::MapOp map : epilogue.maps)
      if (std::string each = operatorName(map); each != names.back())
        names.push_back(each);
    SmallVector<StringRef> operators(names.begin(), names.end());
    auto call = rewriter.create<hr::LibraryOp>(
        op->getLoc(), result.getType(), operands, rewriter.getStringAttr("cudnn.convolution"),
        AffineMapAttr::get(symbolMap(parameters, context)), rewriter.getStringAttr(name),
        rewriter.getStrArrayAttr(operators), AffineMapAttr::get(cost));
    rewriter.replaceAllUsesWith(result, call.getResult());
    Value image = op->getOperand(0), filter = op->getOperand(1);
    for (hr::MapOp map : llvm::reverse(epilogue.maps))
      rewriter.eraseOp(map);
    rewriter.eraseOp(op);
    for (Value value : {image, filter})
      eraseUnused(value, rewriter);
  }

protected:
  explicit CuDnnFused(double efficiency) : kEfficiency(efficiency) {}

  /// The operator as a convolution, with what that takes before it.
  virtual Convolution convolutionOf(Operation *op, OpBuilder &b) const = 0;

private:
  static constexpr double kTile = 64;

  static Value inSingle(OpBuilder &b, Value bias) {
    Location loc = bias.getLoc();
    SymbolicShape columns{shapeOf(bias).back()};
    bias = reshaped(b, loc, bias, columns);
    if (elementOf(bias).isF32())
      return bias;
    return createMap(b, loc, {bias}, [&](OpBuilder &inner, ValueRange v) -> Value {
      return inner.create<arith::ExtFOp>(loc, inner.getF32Type(), v[0]);
    });
  }

  /// Padding and transposes that only the operator read.
  static void eraseUnused(Value value, RewriterBase &rewriter) {
    Operation *op = value.getDefiningOp();
    while (op && op->use_empty() && isa<hr::PadOp, hr::TransposeOp, hr::ReshapeOp>(op)) {
      Operation *before = op->getOperand(0).getDefiningOp();
      rewriter.eraseOp(op);
      op = before;
    }
  }

  double kEfficiency;
};

/// Measured on an H200: 430 of 750 Tflop/s in convolutions of ResNet-50.
class CuDnnFusedConvolution final : public CuDnnFused {
public:
  CuDnnFusedConvolution() : CuDnnFused(0.55) {}

  bool applies(Operation *operation, const Machine &) const override {
    auto op = dyn_cast<hr::ConvOp>(operation);
    if (!op || op.getLayout() != hr::ChannelLayout::Last || op.getGroups() != 1 ||
        shapeOf(op.getFilter()).size() != 4)
      return false;
    Type type = elementOf(op.getInput());
    SymbolicShape window = shapeOf(op.getFilter());
    return isHalf(type) && elementOf(op.getFilter()) == type && elementOf(op.getResult()) == type &&
           window[2].isMultipleOf(kChannels) && window[3].isMultipleOf(kChannels) &&
           llvm::all_of(op.getPads(), [](int64_t pad) { return pad == 0; });
  }

private:
  Convolution convolutionOf(Operation *operation, OpBuilder &b) const override {
    auto op = cast<hr::ConvOp>(operation);
    Convolution conv;
    conv.image = op.getInput();
    if (auto pad = op.getInput().getDefiningOp<hr::PadOp>(); pad && isImagePadding(pad)) {
      conv.image = pad.getInput();
      conv.low.assign({pad.getLow()[1], pad.getLow()[2]});
      conv.high.assign({pad.getHigh()[1], pad.getHigh()[2]});
    }
    conv.filter = channelsLast(b, op.getFilter());
    SymbolicShape image = shapeOf(conv.image), window = shapeOf(op.getFilter()),
                  result = shapeOf(op.getResult());
    conv.sizes = {image[0],  image[1],  image[2],  image[3], window[3],
                  window[0], window[1], result[1], result[2]};
    llvm::copy(op.getStrides(), conv.strides.begin());
    llvm::copy(op.getDilations(), conv.dilations.begin());
    return conv;
  }

  /// Zeros around the image, as many on both sides.
  static bool isImagePadding(hr::PadOp pad) {
    ArrayRef<int64_t> low = pad.getLow(), high = pad.getHigh();
    auto number = dyn_cast<FloatAttr>(pad.getValue());
    return number && number.getValue().isZero() && low == high && low[0] == 0 && low[3] == 0 &&
           low[1] >= 0 && low[2] >= 0;
  }
};

/// A pointwise convolution: a matrix of weights that the channels of an image are multiplied by.
/// Other products of matrices are faster as ours.
class CuDnnFusedContraction final : public CuDnnFused {
public:
  CuDnnFusedContraction() : CuDnnFused(0.7) {}

  bool applies(Operation *operation, const Machine &) const override {
    auto op = dyn_cast<hr::ContractOp>(operation);
    std::optional<MatrixProduct> product = op ? asMatrixProduct(op) : std::nullopt;
    if (!product || constantValue(product->batch) != 1 || product->transposeA ||
        shapeOf(op.getLhs()).size() != 4 || shapeOf(op.getRhs()).size() != 2 ||
        shapeOf(op.getResult()).size() != shapeOf(op.getLhs()).size())
      return false;
    Type type = elementOf(op.getLhs());
    return isHalf(type) && elementOf(op.getRhs()) == type && elementOf(op.getResult()) == type &&
           product->k.isMultipleOf(kChannels) && product->n.isMultipleOf(kChannels);
  }

private:
  Convolution convolutionOf(Operation *operation, OpBuilder &b) const override {
    auto op = cast<hr::ContractOp>(operation);
    MatrixProduct product = *asMatrixProduct(op);
    Convolution conv;
    conv.image = op.getLhs();
    conv.filter = product.transposeB ? Value(op.getRhs()) : columnsFirst(b, op.getRhs());
    AffineExpr one = b.getAffineConstantExpr(1);
    SymbolicShape image = shapeOf(conv.image);
    conv.sizes = {image[0], image[1], image[2], product.k, product.n, one, one, image[1], image[2]};
    return conv;
  }
};

} // namespace

const Expansion &cuDnnFusedConvolution() {
  static const CuDnnFusedConvolution expansion;
  return expansion;
}

const Expansion &cuDnnFusedContraction() {
  static const CuDnnFusedContraction expansion;
  return expansion;
}

} // namespace headrace::cuda
