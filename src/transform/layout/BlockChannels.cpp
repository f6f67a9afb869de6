#include "transform/layout/BlockChannels.h"

#include "dialect/SymbolicShape.h"
#include "transform/common/OperatorBuilders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <numeric>

using namespace mlir;

namespace headrace {

std::optional<int64_t> blockSize(StringRef layout) {
  if (layout == "blocked8")
    return 8;
  if (layout == "blocked16")
    return 16;
  return std::nullopt;
}

static bool isFirst(hr::ConvOp op) { return op.getLayout() == hr::ChannelLayout::First; }
/// The number of channels of the result.
static std::optional<int64_t> featuresOf(hr::ConvOp op) {
  SymbolicShape shape = shapeOf(op.getResult());
  return constantValue(isFirst(op) ? shape[1] : shape.back());
}
static std::optional<int64_t> channelsOf(hr::ConvOp op) {
  SymbolicShape shape = shapeOf(op.getInput());
  return constantValue(isFirst(op) ? shape[1] : shape.back());
}
static bool isDepthwise(hr::ConvOp op) {
  auto groups = static_cast<int64_t>(op.getGroups());
  return groups > 1 && channelsOf(op) == groups && featuresOf(op) == groups;
}

std::string unsupportedBlockedReason(Operation *operation, int64_t block) {
  auto op = dyn_cast<hr::ConvOp>(operation);
  if (!op)
    return "expected channels-last or channels-first: blocks are chosen for convolutions, and "
           "what follows them has theirs";
  Type element = getElementTypeOrSelf(op.getResult());
  if (!element.isF32() && !element.isF64())
    return "expected f32 or f64 for blocked channels";
  if (op.getGroups() != 1 && !isDepthwise(op))
    return "channels in several groups cannot be blocked";
  std::optional<int64_t> features = featuresOf(op);
  if (!features || *features % block != 0)
    return features
               ? "there are " + std::to_string(*features) + " channels, which is not a multiple"
               : "the number of channels is a dynamic dimension";
  return "";
}

namespace {

/// Goes through a program in order, and keeps of every value the one in blocks.
class ChannelBlocker {
public:
  explicit ChannelBlocker(func::FuncOp program)
      : block(program.getBody().front()), b(program.getContext()) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      b.setInsertionPoint(&op);
      Value result;
      if (auto conv = dyn_cast<hr::ConvOp>(op))
        result = convolution(conv);
      else if (auto map = dyn_cast<hr::MapOp>(op))
        result = function(map);
      else if (auto pool = dyn_cast<hr::PoolOp>(op))
        result = pooling(pool);
      else if (auto pad = dyn_cast<hr::PadOp>(op))
        result = padding(pad);
      else if (auto concat = dyn_cast<hr::ConcatOp>(op))
        result = joined(concat);
      if (result)
        replace(&op, result);
    }
    // Images that nobody reads but in blocks.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isa<hr::ReshapeOp, hr::TransposeOp>(op) && op.use_empty())
        op.erase();
  }

private:
  static int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }
  static int64_t sizeOfBlocks(Value blocked) {
    return cast<RankedTensorType>(blocked.getType()).getShape().back();
  }
  AffineExpr number(int64_t value) { return constantDim(value, b.getContext()); }

  /// [N, S..., C] -> [N, C/size, S..., size]
  Value blocked(Location loc, Value image, int64_t size) {
    auto found = inBlocks.find(image);
    if (found != inBlocks.end() && sizeOfBlocks(found->second) == size)
      return found->second;
    int64_t rank = rankOf(image);
    SymbolicShape split = shapeOf(image);
    split.back() = number(*constantValue(split.back()) / size);
    split.push_back(number(size));
    Permutation order{0, rank - 1};
    for (int64_t dim = 1; dim + 1 < rank; ++dim)
      order.push_back(dim);
    order.push_back(rank);
    return transposed(b, loc, reshaped(b, loc, image, split), order);
  }

  /// And back.
  Value asImage(Location loc, Value value) {
    int64_t rank = rankOf(value) - 1;
    Permutation order{0};
    for (int64_t dim = 2; dim < rank; ++dim)
      order.push_back(dim);
    order.append({1, rank});
    Value last = transposed(b, loc, value, order);
    SymbolicShape shape = shapeOf(last);
    shape.pop_back();
    shape.back() = number(*constantValue(shape.back()) * sizeOfBlocks(value));
    return reshaped(b, loc, last, shape);
  }

  void replace(Operation *op, Value result) {
    b.setInsertionPointAfterValue(result);
    Value image = asImage(op->getLoc(), result);
    inBlocks[image] = result;
    op->getResult(0).replaceAllUsesWith(image);
    op->erase();
  }

  /// The sums over windows as an operator over blocks.
  Value convolution(hr::ConvOp op) {
    auto size = op->getAttrOfType<IntegerAttr>(kBlockedAttr);
    if (!size || isFirst(op) || !unsupportedBlockedReason(op, size.getInt()).empty())
      return {};
    int64_t block = size.getInt();
    Location loc = op.getLoc();
    std::optional<int64_t> channels = channelsOf(op);
    bool isBlocked = channels && *channels % block == 0, depthwise = isDepthwise(op);
    if (depthwise && !isBlocked)
      return {};
    Value image = padded(loc, op.getInput(), op.getPads());
    if (isBlocked)
      image = blocked(loc, image, block);
    int64_t spatial = static_cast<int64_t>(op.getStrides().size());
    Value filter = blockedFilter(op, block, isBlocked, depthwise);

    // The domain: n, f, position..., j | c, window..., i; a plain image has one c for both.
    SymbolicShape result = shapeOf(op.getResult()), window = shapeOf(op.getFilter());
    SmallVector<AffineExpr> domain{result.front(), number(*featuresOf(op) / block)};
    llvm::append_range(domain, ArrayRef(result).slice(1, spatial));
    domain.push_back(number(block));
    size_t dims = domain.size();
    if (!depthwise)
      domain.push_back(isBlocked ? number(*channels / block) : shapeOf(image).back());
    llvm::append_range(domain, ArrayRef(window).take_front(spatial));
    if (!depthwise && isBlocked)
      domain.push_back(number(block));
    auto d = [&](size_t i) { return b.getAffineDimExpr(i); };
    AffineExpr n = d(0), f = d(1), j = d(2 + spatial), c = depthwise ? f : d(dims);
    size_t firstWindow = depthwise ? dims : dims + 1;
    AffineExpr i = depthwise ? j : isBlocked ? d(firstWindow + spatial) : AffineExpr();
    SmallVector<AffineExpr> read{n}, weight{f};
    if (isBlocked)
      read.push_back(c);
    if (!depthwise)
      weight.push_back(c);
    for (int64_t dim = 0; dim < spatial; ++dim) {
      AffineExpr at = d(firstWindow + dim);
      read.push_back(d(2 + dim) * op.getStrides()[dim] + at * op.getDilations()[dim]);
      weight.push_back(at);
    }
    read.push_back(isBlocked ? i : c);
    if (!depthwise && isBlocked)
      weight.push_back(i);
    weight.push_back(j);
    return sumOfProducts(loc, image, filter, domain, domain.size() - dims, read, weight);
  }

  Value sumOfProducts(Location loc, Value left, Value right, ArrayRef<AffineExpr> domain,
                      int64_t reduced, ArrayRef<AffineExpr> readLeft,
                      ArrayRef<AffineExpr> readRight) {
    MLIRContext *context = b.getContext();
    Type element = getElementTypeOrSelf(left);
    auto mapOf = [&](ArrayRef<AffineExpr> exprs) {
      return AffineMap::get(domain.size(), 0, exprs, context);
    };
    auto op = b.create<hr::ComputeOp>(
        loc, tensorType(domain.drop_back(reduced), element), ValueRange{left, right}, ValueRange{},
        symbolMap(domain, context), b.getAffineMapArrayAttr({mapOf(readLeft), mapOf(readRight)}),
        reduced, cast<TypedAttr>(b.getZeroAttr(element)));
    OpBuilder::InsertionGuard guard(b);
    for (Region *region : {&op.getBody(), &op.getCombine()}) {
      Block *body = b.createBlock(region, {}, {element, element}, {loc, loc});
      Value x = body->getArgument(0), y = body->getArgument(1);
      Value value = region == &op.getCombine() ? b.create<arith::AddFOp>(loc, x, y).getResult()
                                               : b.create<arith::MulFOp>(loc, x, y).getResult();
      b.create<hr::YieldOp>(loc, value);
    }
    return op.getResult();
  }

  /// [window..., C, F] -> [F/size, C/size, window..., size of C, size of F]
  Value blockedFilter(hr::ConvOp op, int64_t block, bool splitsChannels, bool depthwise) {
    Value filter = op.getFilter();
    SymbolicShape shape = shapeOf(filter);
    int64_t spatial = static_cast<int64_t>(shape.size()) - 2;
    AffineExpr channels = shape[spatial];
    SmallVector<AffineExpr> split(shape.begin(), shape.begin() + spatial);
    SmallVector<int64_t> outer, inner, windows;
    windows.resize(spatial);
    std::iota(windows.begin(), windows.end(), 0);
    auto add = [&](AffineExpr size, SmallVector<int64_t> &place) {
      place.push_back(static_cast<int64_t>(split.size()));
      split.push_back(size);
    };
    if (!depthwise) { // that has one channel for each feature
      add(splitsChannels ? number(*constantValue(channels) / block) : channels, outer);
      if (splitsChannels)
        add(number(block), inner);
    }
    SmallVector<int64_t> features;
    add(number(*featuresOf(op) / block), features);
    add(number(block), inner);
    Permutation order(features);
    order.append(outer);
    order.append(windows);
    order.append(inner);
    return transposed(b, op.getLoc(), reshaped(b, op.getLoc(), filter, split), order);
  }

  Value padded(Location loc, Value image, ArrayRef<int64_t> pads) {
    if (llvm::all_of(pads, [](int64_t pad) { return pad == 0; }))
      return image;
    size_t rank = rankOf(image), spatial = pads.size() / 2;
    SmallVector<int64_t> low(rank, 0), high(rank, 0);
    llvm::copy(pads.take_front(spatial), low.begin() + 1);
    llvm::copy(pads.drop_front(spatial), high.begin() + 1);
    TypedAttr zero = b.getZeroAttr(getElementTypeOrSelf(image));
    auto pad = b.create<hr::PadOp>(loc, image, low, high, zero);
    Value result = padding(pad);
    if (!result)
      return pad;
    Value whole = asImage(loc, result);
    inBlocks[whole] = result;
    pad.erase();
    return whole;
  }

  /// The size of the blocks that all of these images are in.
  std::optional<int64_t> commonSize(ArrayRef<Value> images) {
    std::optional<int64_t> size;
    for (Value image : images) {
      auto found = inBlocks.find(image);
      if (found == inBlocks.end() ||
          size.value_or(sizeOfBlocks(found->second)) != sizeOfBlocks(found->second))
        return std::nullopt;
      size = sizeOfBlocks(found->second);
    }
    return size;
  }

  Value function(hr::MapOp op) {
    int64_t rank = rankOf(op.getResult());
    SymbolicShape whole = shapeOf(op.getResult());
    SmallVector<Value> images;
    for (Value operand : op.getInputs())
      if (sameShape(shapeOf(operand), whole))
        images.push_back(operand);
    std::optional<int64_t> size = commonSize(images);
    if (!size)
      return {};
    SmallVector<Value> operands;
    for (Value operand : op.getInputs()) {
      Value image = withRank(b, op.getLoc(), operand, rank);
      SymbolicShape shape = shapeOf(image);
      if (inBlocks.contains(operand) || !isOne(shape.back())) {
        operands.push_back(blocked(op.getLoc(), image, *size));
      } else {
        shape.insert(shape.begin() + 1, number(1));
        operands.push_back(reshaped(b, op.getLoc(), image, shape));
      }
    }
    auto moved = cast<hr::MapOp>(b.clone(*op));
    moved->setOperands(operands);
    moved.getResult().setType(
        tensorType(blockedShape(whole, *size), getElementTypeOrSelf(op.getResult())));
    return moved.getResult();
  }

  /// Treats the blocks of an image as images of `block` channels each.
  Value pooling(hr::PoolOp op) {
    auto found = inBlocks.find(op.getInput());
    if (found == inBlocks.end() || op.getLayout() != hr::ChannelLayout::Last)
      return {};
    auto apart = [](SymbolicShape shape) {
      shape[1] = normalized(shape[0] * shape[1]);
      shape.erase(shape.begin());
      return shape;
    };
    SymbolicShape result = blockedShape(shapeOf(op.getResult()), sizeOfBlocks(found->second));
    Value images = reshaped(b, op.getLoc(), found->second, apart(shapeOf(found->second)));
    Operation *moved = b.clone(*op);
    moved->setOperand(0, images);
    moved->getResult(0).setType(tensorType(apart(result), getElementTypeOrSelf(op.getResult())));
    return reshaped(b, op.getLoc(), moved->getResult(0), result);
  }

  Value padding(hr::PadOp op) {
    auto found = inBlocks.find(op.getInput());
    if (found == inBlocks.end() || op.getLow().back() != 0 || op.getHigh().back() != 0)
      return {};
    auto around = [](ArrayRef<int64_t> sizes) {
      SmallVector<int64_t> all(sizes);
      all.insert(all.begin() + 1, 0);
      return all;
    };
    return b.create<hr::PadOp>(op.getLoc(), found->second, around(op.getLow()),
                               around(op.getHigh()), op.getValue());
  }

  Value joined(hr::ConcatOp op) {
    bool joinsChannels = static_cast<int64_t>(op.getAxis()) == rankOf(op.getResult()) - 1;
    std::optional<int64_t> size = commonSize(llvm::to_vector(op.getInputs()));
    if (!joinsChannels || !size)
      return {};
    SmallVector<Value> parts;
    for (Value part : op.getInputs())
      parts.push_back(inBlocks.at(part));
    return b.create<hr::ConcatOp>(op.getLoc(), parts, b.getI64IntegerAttr(1));
  }

  SymbolicShape blockedShape(SymbolicShape shape, int64_t size) {
    AffineExpr channels = shape.pop_back_val();
    shape.insert(shape.begin() + 1, number(*constantValue(channels) / size));
    shape.push_back(number(size));
    return shape;
  }
  static bool sameShape(ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> other) {
    return a.size() == other.size() && llvm::all_of(llvm::zip(a, other), [](auto pair) {
             return sameSize(std::get<0>(pair), std::get<1>(pair));
           });
  }
  static bool isOne(AffineExpr size) { return constantValue(size) == 1; }

  Block &block;
  OpBuilder b;
  llvm::DenseMap<Value, Value> inBlocks; // by the image that it is
};

} // namespace

void blockChannels(func::FuncOp program) {
  bool asks = llvm::any_of(program.getOps<hr::ConvOp>(),
                           [](hr::ConvOp op) { return op->hasAttr(kBlockedAttr); });
  if (asks)
    ChannelBlocker(program).run();
}

} // namespace headrace
