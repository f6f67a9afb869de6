#include "target/vta/fixed/ProgramChains.h"

#include "dialect/ConstantData.h"
#include "dialect/ops/Operands.h"
#include "target/vta/fixed/BodyChain.h"
#include "target/vta/fixed/Product.h"
#include "target/vta/fixed/Weights.h"
#include "target/vta/schedule/LegalSchedule.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace headrace::vta {

using hr::typeOf;

namespace {

hr::ConstantOp constantOf(Value value) { return value.getDefiningOp<hr::ConstantOp>(); }

bool isZero(int64_t number) { return number == 0; }
bool isNegative(int64_t number) { return number < 0; }

/// A constant operand of a map as numbers of the channels; the others are repeated.
Numbers numbersOf(hr::ConstantOp constant, int64_t rank, int64_t channelDim) {
  Tensor tensor = constantTensor(constant.getValue()).converted(DType::F64);
  auto missing = rank - static_cast<int64_t>(tensor.shape().size());
  for (auto [i, size] : llvm::enumerate(tensor.shape()))
    if (size != 1 && static_cast<int64_t>(i) + missing != channelDim)
      throw Unsupported("reads a constant that is neither a scalar nor one value per channel");
  const double *data = tensor.as<double>();
  return Numbers(data, data + tensor.elements());
}

void addPads(Sliding &sliding, ArrayRef<int64_t> pads) {
  sliding.padTop += pads[0];
  sliding.padLeft += pads[1];
  sliding.padBottom += pads[2];
  sliding.padRight += pads[3];
}

/// The windows of a convolution or a pooling.
template <class Op> Sliding slidingOf(Op op) {
  Sliding sliding;
  sliding.strideY = op.getStrides()[0];
  sliding.strideX = op.getStrides()[1];
  addPads(sliding, op.getPads());
  return sliding;
}

/// Whether only height and width are padded.
bool isPadOfImages(hr::PadOp pad) {
  return pad.getLow().size() == 4 && llvm::all_of(pad.getLow().take_front(2), isZero) &&
         llvm::all_of(pad.getHigh().take_front(2), isZero) &&
         llvm::none_of(pad.getLow(), isNegative) && llvm::none_of(pad.getHigh(), isNegative);
}

double padNumber(hr::PadOp pad) {
  if (auto real = dyn_cast<FloatAttr>(pad.getValue()))
    return real.getValueAsDouble();
  const llvm::APInt &integer = cast<IntegerAttr>(pad.getValue()).getValue();
  return typeOf(pad.getResult()).getElementType().isUnsignedInteger()
             ? static_cast<double>(integer.getZExtValue())
             : static_cast<double>(integer.getSExtValue());
}

/// An image under the rows of a matrix: [n, c, h, w] as [n, c * h * w].
Value flattenedImage(Value matrix) {
  auto reshape = matrix.getDefiningOp<hr::ReshapeOp>();
  if (!reshape)
    return {};
  RankedTensorType from = typeOf(reshape.getInput()), to = typeOf(matrix);
  bool isFlat = from.getRank() == 4 && to.getRank() == 2 && from.hasStaticShape() &&
                from.getDimSize(0) == to.getDimSize(0);
  return isFlat ? reshape.getInput() : Value();
}

} // namespace

bool isStored(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && (tensor.getElementType().isSignlessInteger(8) ||
                    tensor.getElementType().isUnsignedInteger(8));
}

Chain ProgramChains::endingIn(Operation *op) {
  seen.clear();
  hasJoined = false;
  Value result = op->getResult(0);
  Chain chain = computed(op);
  if (chain.exponents != std::vector<int>{0})
    throw Unsupported("its results are not integers");
  if (typeOf(result).getElementType().isUnsignedInteger())
    chain.add(-128);
  if (chain.range.low < -128 || chain.range.high > 127)
    throw Unsupported("integers from " + std::to_string(chain.range.low) + " to " +
                      std::to_string(chain.range.high) + " do not fit 8 bits");
  if (!chain.isExact())
    throw Unsupported(
        "f32 does not represent all integers beyond 2^24, and no clip limits the results");
  return chain;
}

Chain ProgramChains::of(Value value) {
  if (isStored(value.getType()))
    return stored(value);
  if (Operation *op = value.getDefiningOp())
    return computed(op);
  throw Unsupported("reads floats or wide integers, of which nothing is known");
}

Chain ProgramChains::computed(Operation *op) {
  seen.insert(op);
  Chain chain = llvm::TypeSwitch<Operation *, Chain>(op)
                    .Case([&](hr::MapOp map) { return ofMap(map); })
                    .Case([&](hr::ConvOp conv) { return ofConvolution(conv); })
                    .Case([&](hr::ContractOp contract) { return ofContraction(contract); })
                    .Case([&](hr::PoolOp pool) { return ofPool(pool); })
                    .Case([&](hr::ReshapeOp reshape) { return ofReshape(reshape); })
                    .Default([](Operation *other) -> Chain {
                      throw Unsupported("reads the floats of " + operatorName(other));
                    });
  chain.operators.insert(op);
  if (!std::holds_alternative<Cells>(chain.core))
    chain.own.insert(op);
  return chain;
}

Chain ProgramChains::stored(Value value) {
  RankedTensorType type = typeOf(value);
  std::optional<Range> known;
  if (auto found = ranges.find(value); found != ranges.end())
    known = found->second;
  return Chain::of({value, imageOf(type)}, type.getRank() == 1 ? 0 : 1,
                   type.getElementType().isUnsignedInteger(), known);
}

/// The chain of stored integers that nothing else reads, if it begins with a product or pooling.
std::optional<Chain> ProgramChains::joined(Value value) {
  auto map = value.getDefiningOp<hr::MapOp>();
  if (!joinsProducts || hasJoined || !map || !isStored(value.getType()) || !value.hasOneUse())
    return std::nullopt;
  Chain chain = computed(map);
  int64_t low = typeOf(value).getElementType().isUnsignedInteger() ? 0 : -128;
  bool fits = chain.range.low >= low && chain.range.high <= low + 255 && chain.isExact();
  if (std::holds_alternative<Cells>(chain.core) || chain.exponents != std::vector<int>{0} || !fits)
    return std::nullopt;
  hasJoined = true;
  return chain;
}

Chain ProgramChains::ofMap(hr::MapOp map) {
  struct Candidate {
    size_t operand;
    int order; // less is better
  };
  std::vector<MapOperand> operands;
  std::vector<Candidate> candidates;
  int64_t rank = typeOf(map.getResult()).getRank(), channelDim = -1;
  for (auto [i, input] : llvm::enumerate(map.getInputs())) {
    operands.emplace_back(Numbers{});
    if (constantOf(input))
      continue;
    if (typeOf(input).getShape() != typeOf(map.getResult()).getShape())
      throw Unsupported("repeats a value that it reads");
    std::optional<Chain> before = joined(input);
    Chain chain = before ? std::move(*before) : of(input);
    channelDim = chain.channelDim;
    // A chain that is computed anyway takes the others; of stored integers, the coarsest scale is
    // shifted.
    bool isCells = chain.offsetOfCells().has_value();
    candidates.push_back({i, isCells ? 1000 - chain.exponents[0] : 0});
    operands.back() = std::move(chain);
  }
  if (candidates.empty())
    throw Unsupported("reads constants alone");
  for (auto [i, input] : llvm::enumerate(map.getInputs()))
    if (auto constant = constantOf(input))
      operands[i] = numbersOf(constant, rank, channelDim);
  auto best = std::ranges::min_element(candidates, {}, &Candidate::order);
  return chainOfMap(map, operands, best->operand);
}

Chain ProgramChains::ofConvolution(hr::ConvOp conv) {
  Weights weights = weightsOf(conv);
  auto groups = static_cast<int64_t>(conv.getGroups());
  Convolution convolution{slidingOf(conv), weights.integers, groups};
  Value input = conv.getInput();
  Type accumulator = typeOf(conv.getResult()).getElementType();
  if (auto pad = input.getDefiningOp<hr::PadOp>();
      pad && isPadOfImages(pad) && !convolution.isPadded()) {
    // Padding that the accelerator does while it loads.
    Chain chain = of(pad.getInput());
    std::optional<int64_t> offset = chain.offsetOfCells();
    if (offset && padNumber(pad) == std::ldexp(static_cast<double>(*offset), chain.exponents[0])) {
      addPads(convolution, {pad.getLow()[2], pad.getLow()[3], pad.getHigh()[2], pad.getHigh()[3]});
      chain.operators.insert(pad);
      return productOf(std::move(chain), std::move(convolution), weights.exponents, accumulator,
                       /*padsWithZero=*/false);
    }
  }
  return productOf(of(input), std::move(convolution), weights.exponents, accumulator,
                   /*padsWithZero=*/true);
}

/// The rows of the left operand times a constant matrix.
Chain ProgramChains::ofContraction(hr::ContractOp contract) {
  Weights weights = weightsOf(contract);
  int64_t columns = weights.integers.shape()[0], depths = weights.integers.shape()[1];
  RankedTensorType lhs = typeOf(contract.getLhs());
  Type accumulator = typeOf(contract.getResult()).getElementType();
  Convolution convolution;
  Chain input = of(contract.getLhs());
  // A flattened image is multiplied as it lies: by windows as large as itself.
  if (Value image = flattenedImage(input.sources[0].value); image && input.offsetOfCells()) {
    ArrayRef<int64_t> shape = typeOf(image).getShape();
    convolution.weights = weights.integers.reshaped({columns, shape[1], shape[2], shape[3]});
    Source source{image, imageOf(typeOf(image))};
    if (unsupportedReason(Operator{"", source.image, convolution, {}}, configuration).empty()) {
      input.sources[0] = source;
      return productOf(std::move(input), std::move(convolution), weights.exponents, accumulator,
                       /*padsWithZero=*/true);
    }
  }
  convolution.weights = weights.integers.reshaped({columns, depths, 1, 1});
  if (!lhs.hasStaticShape())
    (void)imageOf(lhs); // rejects
  int64_t count = lhs.getNumElements() / std::max<int64_t>(depths, 1);
  Image matrixImage{count, depths, 1, 1};
  if (count == 0 || depths == 0)
    throw Unsupported("there are no elements");
  input.sources[0].image = input.result = matrixImage;
  Chain chain = productOf(std::move(input), std::move(convolution), weights.exponents, accumulator,
                          /*padsWithZero=*/true);
  chain.channelDim = lhs.getRank() - 1;
  return chain;
}

Chain ProgramChains::ofPool(hr::PoolOp pool) {
  if (pool.getKind() != hr::PoolKind::Max)
    throw Unsupported("the accelerator cannot compute averages of windows");
  if (pool.getLayout() != hr::ChannelLayout::First || typeOf(pool.getInput()).getRank() != 4)
    throw Unsupported("is not a pooling of images with channels first");
  if (llvm::any_of(pool.getDilations(), [](int64_t dilation) { return dilation != 1; }))
    throw Unsupported("its windows are dilated");
  Chain chain = of(pool.getInput());
  if (!chain.offsetOfCells())
    throw Unsupported("its operand is not stored as 8-bit integers before");
  MaxPool core{slidingOf(pool), pool.getWindow()[0], pool.getWindow()[1]};
  chain.result = Operator{"", chain.sources[0].image, core, {}}.result();
  chain.core = core;
  return chain;
}

/// Stored integers under another shape.
Chain ProgramChains::ofReshape(hr::ReshapeOp reshape) {
  Chain chain = of(reshape.getInput());
  if (!chain.offsetOfCells())
    throw Unsupported("reshapes a value that is not stored as 8-bit integers");
  OpBuilder b(reshape);
  Value source = chain.sources[0].value;
  RankedTensorType type = typeOf(reshape.getResult()).clone(typeOf(source).getElementType());
  Value view = b.create<hr::ReshapeOp>(reshape.getLoc(), type, source);
  chain.sources[0] = {view, imageOf(type)};
  chain.result = chain.sources[0].image;
  chain.channelDim = type.getRank() == 1 ? 0 : 1;
  return chain;
}

} // namespace headrace::vta
