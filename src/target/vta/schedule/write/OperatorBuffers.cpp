#include "target/vta/schedule/write/OperatorBuffers.h"

#include <algorithm>

namespace headrace::vta {

namespace {

// Of the values that the operator reads, by number: those of its stages after its own.
std::vector<DType> inputTypes(const Operator &op) {
  const auto *cells = std::get_if<Cells>(&op.core);
  std::vector<DType> types = {cells ? cells->input : DType::I8};
  for (const AluStage &stage : op.stages)
    if (const auto *image = std::get_if<FromImage>(&stage.operand)) {
      types.resize(std::max(types.size(), image->input + 1), DType::I8);
      types[image->input] = image->type;
    }
  return types;
}

// Channels of a group read the blocks that any channel of their block of output channels reads:
// weights for channels of other groups are zeros.
Tensor ungrouped(const Operator &op, const Convolution &convolution, const OperatorShape &shape,
                 int64_t block) {
  const Shape &sizes = convolution.weights.shape();
  int64_t window = sizes[2] * sizes[3], outPerGroup = sizes[0] / convolution.groups,
          width = std::min(shape.depth * block, op.input.channels);
  Tensor dense = Tensor::allocate(DType::I8, {sizes[0], width, sizes[2], sizes[3]});
  std::fill_n(dense.as<int8_t>(), dense.elements(), int8_t{0});
  for (const Family &family : shape.families)
    for (int64_t o = family.begin * block; o < std::min(family.end * block, sizes[0]); ++o) {
      int64_t first = o / outPerGroup * sizes[1] - family.firstIn * block;
      std::copy_n(convolution.weights.as<int8_t>() + o * sizes[1] * window, sizes[1] * window,
                  dense.as<int8_t>() + (o * width + first) * window);
    }
  return dense;
}

void allocateWeights(const Operator &op, const OperatorShape &shape, bool withValues,
                     CommandStream &stream, OperatorBuffers &buffers) {
  const auto &convolution = std::get<Convolution>(op.core);
  int64_t block = stream.configuration().block();
  std::array<int64_t, 4> blocks = {block, block, 1, 1};
  Shape sizes = convolution.weights.shape();
  sizes[1] = std::min(shape.depth * block, op.input.channels);
  buffers.weights =
      stream.allocate(op.name + ".weights", Role::Weight, DType::I8, sizes, blockedLayout(blocks));
  if (withValues)
    stream.fill(buffers.weights, convolution.groups == 1
                                     ? convolution.weights
                                     : ungrouped(op, convolution, shape, block));
}

// A number of a channel stands in every row of an accumulator.
void allocateNumbers(const Operator &op, const AluProgram &stages, bool withValues,
                     CommandStream &stream, OperatorBuffers &buffers) {
  int64_t batch = stream.configuration().batch(), channels = op.result().channels;
  std::array<int64_t, 3> blocks = {1, batch, stream.configuration().block()};
  Shape sizes = {static_cast<int64_t>(stages.constants.size()), batch, channels};
  buffers.constants = stream.allocate(op.name + ".constants", Role::Weight, DType::I32, sizes,
                                      blockedLayout(blocks));
  if (!withValues)
    return;
  Tensor numbers = Tensor::allocate(DType::I32, sizes);
  auto *to = numbers.as<int32_t>();
  for (const std::vector<int32_t> &constant : stages.constants)
    for (int64_t row = 0; row < batch; ++row)
      to = std::ranges::copy(constant, to).out;
  stream.fill(buffers.constants, numbers);
}

} // namespace

OperatorBuffers allocateOperands(const Operator &op, CommandStream &stream) {
  auto allocate = [&](std::string name, Role role, DType type, const Image &image) {
    return stream.allocate(std::move(name), role, type,
                           {image.batch, image.channels, image.height, image.width},
                           layoutOf(image, stream.configuration()));
  };
  OperatorBuffers buffers;
  Image result = op.result();
  for (DType type : inputTypes(op)) {
    size_t i = buffers.inputs.size();
    buffers.inputs.push_back(
        allocate("input" + std::to_string(i), Role::Input, type, i == 0 ? op.input : result));
  }
  buffers.result = allocate("result", Role::Output, DType::I8, result);
  return buffers;
}

void allocateConstants(const Operator &op, const OperatorShape &shape, const AluProgram &stages,
                       bool withValues, CommandStream &stream, OperatorBuffers &buffers) {
  if (shape.multiplies)
    allocateWeights(op, shape, withValues, stream, buffers);
  if (!stages.constants.empty())
    allocateNumbers(op, stages, withValues, stream, buffers);
}

} // namespace headrace::vta
