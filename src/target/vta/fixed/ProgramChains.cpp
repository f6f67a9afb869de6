#include "target/vta/fixed/ProgramChains.h"

#include "dialect/ConstantData.h"
#include "target/vta/fixed/BodyChain.h"
#include "target/vta/fixed/Weights.h"
#include "target/vta/schedule/LegalSchedule.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace headrace::vta {

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

hr::ConstantOp constantOf(Value value) { return value.getDefiningOp<hr::ConstantOp>(); }

bool isZero(int64_t number) { return number == 0; }
bool isNegative(int64_t number) { return number < 0; }

/// A constant operand of a map as numbers of the channels; the others are repeated.
Numbers numbersOf(hr::ConstantOp constant, int64_t rank, int64_t channelDim) {
  Tensor tensor = constantTensor(constant.getValue()).converted(DType::F64);
  auto missing = rank - static_cast<int64_t>(tensor.shape().size());
  for (auto [i, size] : llvm::enumerate(tensor.shape()))
    if (size != 1 && static_cast<int64_t>(i) + missing != channelDim)
      throw Refusal("reads a constant that is no number, and no number for each channel");
  const double *data = tensor.as<double>();
  return Numbers(data, data + tensor.elements());
}

/// Windows with zeros between their elements.
Tensor dilated(const Tensor &weights, int64_t dilationY, int64_t dilationX) {
  const Shape &from = weights.shape();
  Shape to = {from[0], from[1], (from[2] - 1) * dilationY + 1, (from[3] - 1) * dilationX + 1};
  Tensor result = Tensor::allocate(DType::I8, to);
  std::memset(result.data(), 0, result.bytes());
  for (int64_t i = 0; i < from[0] * from[1]; ++i)
    for (int64_t y = 0; y < from[2]; ++y)
      for (int64_t x = 0; x < from[3]; ++x)
        result.as<int8_t>()[(i * to[2] + y * dilationY) * to[3] + x * dilationX] =
            weights.as<int8_t>()[(i * from[2] + y) * from[3] + x];
  return result;
}

void addPads(Convolution &convolution, ArrayRef<int64_t> pads) {
  convolution.padTop += pads[0];
  convolution.padLeft += pads[1];
  convolution.padBottom += pads[2];
  convolution.padRight += pads[3];
}

bool isPadded(const Convolution &convolution) {
  return convolution.padTop || convolution.padBottom || convolution.padLeft || convolution.padRight;
}

/// Of height and width alone.
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
    throw Refusal("its results are no integers");
  if (typeOf(result).getElementType().isUnsignedInteger())
    chain.add(-128);
  if (chain.range.low < -128 || chain.range.high > 127)
    throw Refusal("integers from " + std::to_string(chain.range.low) + " to " +
                  std::to_string(chain.range.high) + " do not fit 8 bits");
  if (!chain.isExact())
    throw Refusal("integers beyond 2^24 are no floats, and no clip makes them equal");
  return chain;
}

Chain ProgramChains::of(Value value) {
  if (isStored(value.getType()))
    return stored(value);
  if (Operation *op = value.getDefiningOp())
    return computed(op);
  throw Refusal("reads floats or wide integers, of which nothing is known");
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
                      throw Refusal("reads the floats of " + operatorName(other));
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

/// The chain of stored integers that nothing else reads, where it begins with a product or pooling.
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
      throw Refusal("repeats a value that it reads");
    std::optional<Chain> before = joined(input);
    Chain chain = before ? std::move(*before) : of(input);
    channelDim = chain.channelDim;
    // What is computed anyway takes the others; of stored integers, those of the coarsest scale are
    // shifted.
    bool isCells = chain.offsetOfCells().has_value();
    candidates.push_back({i, isCells ? 1000 - chain.exponents[0] : 0});
    operands.back() = std::move(chain);
  }
  if (candidates.empty())
    throw Refusal("reads constants alone");
  for (auto [i, input] : llvm::enumerate(map.getInputs()))
    if (auto constant = constantOf(input))
      operands[i] = numbersOf(constant, rank, channelDim);
  auto best = std::ranges::min_element(candidates, {}, &Candidate::order);
  return chainOfMap(map, operands, best->operand);
}

Chain ProgramChains::product(Chain input, Convolution convolution,
                             const std::vector<int> &exponents, Type accumulator,
                             bool padsWithZero) {
  std::optional<int64_t> offset = input.offsetOfCells();
  if (!offset)
    throw Refusal("what it multiplies is not stored as integers of 8 bits before");
  // The accelerator pads with integers that are 0 in DRAM.
  if (*offset != 0 && padsWithZero && isPadded(convolution))
    throw Refusal("its padding is no 0 in DRAM: the zero point is not that of the middle");
  const Tensor &weights = convolution.weights;
  int64_t channels = weights.shape()[0], count = weights.elements() / channels;
  Range stored{input.range.low - *offset, input.range.high - *offset};
  Range sums{0, 0};
  std::vector<int64_t> offsets;
  for (int64_t channel = 0; channel < channels; ++channel) {
    int64_t low = 0, high = 0, sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      int64_t weight = weights.as<int8_t>()[channel * count + i];
      auto [least, most] = std::minmax(weight * stored.low, weight * stored.high);
      low += std::min<int64_t>(least, 0);
      high += std::max<int64_t>(most, 0);
      sum += weight;
    }
    sums = {std::min(sums.low, low), std::max(sums.high, high)};
    offsets.push_back(sum * *offset);
  }
  if (std::max(sums.high, -sums.low) >= INT64_C(1) << 31)
    throw Refusal("sums reach " + std::to_string(std::max(sums.high, -sums.low)) +
                  ", beyond 32 bits");
  Chain chain = std::move(input);
  int scale = chain.exponents[0];
  Operator op{"", chain.sources[0].image, convolution, {}};
  chain.result = op.result();
  chain.core = std::move(convolution);
  chain.stages.clear();
  chain.range = sums;
  chain.exponents.clear();
  for (int exponent : exponents)
    chain.exponents.push_back(exponent + scale);
  chain.add(std::move(offsets));
  chain.computeIn(accumulator);
  return chain;
}

Chain ProgramChains::ofConvolution(hr::ConvOp conv) {
  auto filter = constantOf(conv.getFilter());
  if (!filter)
    throw Refusal("its weights are no constants");
  if (conv.getLayout() != hr::ChannelLayout::First || typeOf(conv.getInput()).getRank() != 4)
    throw Refusal("is no convolution of images with channels first");
  Weights weights = weightsOf(constantTensor(filter.getValue()),
                              typeOf(conv.getFilter()).getElementType().isInteger(8));
  Convolution convolution;
  convolution.weights = dilated(weights.integers, conv.getDilations()[0], conv.getDilations()[1]);
  convolution.strideY = conv.getStrides()[0];
  convolution.strideX = conv.getStrides()[1];
  convolution.groups = conv.getGroups();
  addPads(convolution, conv.getPads());
  Value input = conv.getInput();
  Type accumulator = typeOf(conv.getResult()).getElementType();
  if (auto pad = input.getDefiningOp<hr::PadOp>();
      pad && isPadOfImages(pad) && !isPadded(convolution)) {
    // Padding that the accelerator does while it loads.
    Chain chain = of(pad.getInput());
    std::optional<int64_t> offset = chain.offsetOfCells();
    if (offset && padNumber(pad) == std::ldexp(static_cast<double>(*offset), chain.exponents[0])) {
      addPads(convolution, {pad.getLow()[2], pad.getLow()[3], pad.getHigh()[2], pad.getHigh()[3]});
      chain.operators.insert(pad);
      return product(std::move(chain), std::move(convolution), weights.exponents, accumulator,
                     /*padsWithZero=*/false);
    }
  }
  return product(of(input), std::move(convolution), weights.exponents, accumulator,
                 /*padsWithZero=*/true);
}

/// The rows of the left operand times a constant matrix.
Chain ProgramChains::ofContraction(hr::ContractOp contract) {
  auto constant = constantOf(contract.getRhs());
  if (!constant)
    throw Refusal("its weights are no constants");
  auto maps = contract.getMaps().getAsValueRange<AffineMapAttr>();
  SmallVector<AffineMap> all(maps.begin(), maps.end());
  AffineMap left = all[0], right = all[1], result = all[2];
  RankedTensorType lhs = typeOf(contract.getLhs()), rhs = typeOf(contract.getRhs());
  unsigned depth = left.getNumResults() ? left.getDimPosition(left.getNumResults() - 1) : 0;
  bool isDense = rhs.getRank() == 2 && lhs.getRank() >= 2 &&
                 result.getNumResults() == left.getNumResults() &&
                 left.dropResults(left.getNumResults() - 1) ==
                     result.dropResults(result.getNumResults() - 1) &&
                 all[0].getNumDims() == left.getNumResults() + 1;
  if (!isDense)
    throw Refusal("is no product of rows with a constant matrix");
  unsigned column = result.getDimPosition(result.getNumResults() - 1);
  bool isTransposed = right.getDimPosition(0) == column;
  if (right.getDimPosition(isTransposed ? 1 : 0) != depth ||
      right.getDimPosition(isTransposed ? 0 : 1) != column)
    throw Refusal("is no product of rows with a constant matrix");
  int64_t columns = rhs.getDimSize(isTransposed ? 0 : 1),
          depths = rhs.getDimSize(isTransposed ? 1 : 0);
  Tensor matrix = constantTensor(constant.getValue()).converted(DType::F64), rows = matrix;
  if (!isTransposed) {
    rows = Tensor::allocate(DType::F64, {columns, depths});
    for (int64_t o = 0; o < columns; ++o)
      for (int64_t i = 0; i < depths; ++i)
        rows.as<double>()[o * depths + i] = matrix.as<double>()[i * columns + o];
  }
  Weights weights = weightsOf(rows, rhs.getElementType().isInteger(8));
  Type accumulator = typeOf(contract.getResult()).getElementType();
  Convolution convolution;
  Chain input = of(contract.getLhs());
  // A flattened image is multiplied as it lies: by windows as large as itself.
  if (Value image = flattenedImage(input.sources[0].value); image && input.offsetOfCells()) {
    ArrayRef<int64_t> shape = typeOf(image).getShape();
    convolution.weights = weights.integers.reshaped({columns, shape[1], shape[2], shape[3]});
    Source source{image, imageOf(typeOf(image))};
    if (whyNot(Operator{"", source.image, convolution, {}}, configuration).empty()) {
      input.sources[0] = source;
      return product(std::move(input), std::move(convolution), weights.exponents, accumulator,
                     /*padsWithZero=*/true);
    }
  }
  convolution.weights = weights.integers.reshaped({columns, depths, 1, 1});
  if (!lhs.hasStaticShape())
    (void)imageOf(lhs); // refuses
  int64_t count = lhs.getNumElements() / std::max<int64_t>(depths, 1);
  Image matrixImage{count, depths, 1, 1};
  if (count == 0 || depths == 0)
    throw Refusal("there are no elements");
  input.sources[0].image = input.result = matrixImage;
  Chain chain = product(std::move(input), std::move(convolution), weights.exponents, accumulator,
                        /*padsWithZero=*/true);
  chain.channelDim = lhs.getRank() - 1;
  return chain;
}

Chain ProgramChains::ofPool(hr::PoolOp pool) {
  if (pool.getKind() != hr::PoolKind::Max)
    throw Refusal("averages of windows are no function of the accelerator");
  if (pool.getLayout() != hr::ChannelLayout::First || typeOf(pool.getInput()).getRank() != 4)
    throw Refusal("is no pooling of images with channels first");
  if (llvm::any_of(pool.getDilations(), [](int64_t dilation) { return dilation != 1; }))
    throw Refusal("its windows have gaps");
  Chain chain = of(pool.getInput());
  if (!chain.offsetOfCells())
    throw Refusal("what it reads is not stored as integers of 8 bits before");
  ArrayRef<int64_t> pads = pool.getPads();
  MaxPool core{pool.getWindow()[0], pool.getWindow()[1]};
  core.strideY = pool.getStrides()[0];
  core.strideX = pool.getStrides()[1];
  core.padTop = pads[0];
  core.padLeft = pads[1];
  core.padBottom = pads[2];
  core.padRight = pads[3];
  chain.result = Operator{"", chain.sources[0].image, core, {}}.result();
  chain.core = core;
  return chain;
}

/// Stored integers under another shape.
Chain ProgramChains::ofReshape(hr::ReshapeOp reshape) {
  Chain chain = of(reshape.getInput());
  if (!chain.offsetOfCells())
    throw Refusal("gives computed values another shape");
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
