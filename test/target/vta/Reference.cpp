#include "target/vta/Reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace headrace::vta::test {

namespace {

Shape shapeOf(const Image &image) {
  return {image.batch, image.channels, image.height, image.width};
}

using Plane = std::vector<int64_t>; // numbers of a result, row by row

// Row after row of inputs, so that the innermost loop is long.
void addWindows(const Operator &op, const Convolution &core, const Tensor &x, int64_t n, int64_t o,
                Plane &plane) {
  Image image = op.result();
  const Shape &w = core.weights.shape();
  int64_t group = o / (w[0] / core.groups);
  for (int64_t i = 0; i < w[1]; ++i)
    for (int64_t ky = 0; ky < w[2]; ++ky)
      for (int64_t kx = 0; kx < w[3]; ++kx) {
        int32_t weight = core.weights.as<int8_t>()[((o * w[1] + i) * w[2] + ky) * w[3] + kx];
        for (int64_t y = 0; y < image.height; ++y) {
          int64_t sy = y * core.strideY + ky - core.padTop;
          if (sy < 0 || sy >= op.input.height)
            continue;
          const int8_t *row =
              x.as<int8_t>() +
              ((n * op.input.channels + group * w[1] + i) * op.input.height + sy) * op.input.width;
          for (int64_t column = 0; column < image.width; ++column)
            if (int64_t sx = column * core.strideX + kx - core.padLeft;
                sx >= 0 && sx < op.input.width)
              plane[static_cast<size_t>(y * image.width + column)] += weight * row[sx];
        }
      }
}

void takeLargest(const Operator &op, const MaxPool &core, const Tensor &x, int64_t n, int64_t c,
                 Plane &plane) {
  Image image = op.result();
  for (int64_t y = 0; y < image.height; ++y)
    for (int64_t column = 0; column < image.width; ++column) {
      int64_t largest = -1000;
      for (int64_t ky = 0; ky < core.windowY; ++ky)
        for (int64_t kx = 0; kx < core.windowX; ++kx) {
          int64_t sy = y * core.strideY + ky - core.padTop,
                  sx = column * core.strideX + kx - core.padLeft;
          if (sy >= 0 && sy < op.input.height && sx >= 0 && sx < op.input.width)
            largest = std::max<int64_t>(
                largest, x.as<int8_t>()[((n * op.input.channels + c) * op.input.height + sy) *
                                            op.input.width +
                                        sx]);
        }
      plane[static_cast<size_t>(y * image.width + column)] = largest;
    }
}

int64_t numberAt(const Tensor &tensor, int64_t index) {
  return tensor.dtype() == DType::I8 ? tensor.as<int8_t>()[index] : tensor.as<int32_t>()[index];
}

// As floating point does it: doubles have every 32-bit number.
int64_t roundedToEven(int64_t value, int64_t bits) {
  return static_cast<int64_t>(
      std::nearbyint(std::ldexp(static_cast<double>(value), static_cast<int>(-bits))));
}

int32_t applied(AluStage::Op op, int32_t value, int64_t operand) {
  switch (op) {
  case AluStage::Op::Add:
    return static_cast<int32_t>(value + operand);
  case AluStage::Op::Mul:
    return static_cast<int32_t>(value * operand);
  case AluStage::Op::Min:
    return static_cast<int32_t>(std::min<int64_t>(value, operand));
  case AluStage::Op::Max:
    return static_cast<int32_t>(std::max<int64_t>(value, operand));
  case AluStage::Op::ShiftRight:
    if (operand >= 0)
      return value >> std::min<int64_t>(operand, 31);
    return operand <= -32 ? 0 : static_cast<int32_t>(static_cast<uint32_t>(value) << -operand);
  case AluStage::Op::RoundShiftRight:
    return static_cast<int32_t>(roundedToEven(value, operand));
  }
  return 0;
}

int64_t operandOf(const AluStage &stage, const std::vector<Tensor> &inputs, int64_t channel,
                  int64_t index) {
  if (const auto *image = std::get_if<FromImage>(&stage.operand))
    return static_cast<int32_t>(static_cast<uint32_t>(numberAt(inputs[image->input], index))
                                << image->shift);
  if (const auto *each = std::get_if<PerChannel>(&stage.operand))
    return each->values[static_cast<size_t>(channel)];
  return std::get<Immediate>(stage.operand).value;
}

} // namespace

Tensor expectedOf(const Operator &op, const std::vector<Tensor> &inputs) {
  Image image = op.result();
  Tensor result = Tensor::allocate(DType::I8, shapeOf(image));
  int64_t area = image.height * image.width;
  for (int64_t n = 0; n < image.batch; ++n)
    for (int64_t c = 0; c < image.channels; ++c) {
      Plane plane(static_cast<size_t>(area), 0);
      int64_t first = (n * image.channels + c) * area;
      if (const auto *convolution = std::get_if<Convolution>(&op.core))
        addWindows(op, *convolution, inputs[0], n, c, plane);
      else if (const auto *pool = std::get_if<MaxPool>(&op.core))
        takeLargest(op, *pool, inputs[0], n, c, plane);
      else
        for (int64_t i = 0; i < area; ++i)
          plane[static_cast<size_t>(i)] = numberAt(inputs[0], first + i);
      for (int64_t i = 0; i < area; ++i) {
        auto value = static_cast<int32_t>(plane[static_cast<size_t>(i)]);
        for (const AluStage &stage : op.stages)
          value = applied(stage.op, value, operandOf(stage, inputs, c, first + i));
        result.as<int8_t>()[first + i] = static_cast<int8_t>(value);
      }
    }
  return result;
}

std::vector<Tensor> randomInputs(const Operator &op, uint64_t seed) {
  auto numbers = [&](DType type, const Image &image, uint64_t offset) {
    int bound = type == DType::I8 ? 128 : 1 << 24;
    return randomTensor(type, shapeOf(image), seed * 7 + offset, -bound, bound - 1);
  };
  const auto *cells = std::get_if<Cells>(&op.core);
  std::vector<Tensor> inputs = {numbers(cells ? cells->input : DType::I8, op.input, 0)};
  for (const AluStage &stage : op.stages)
    if (const auto *image = std::get_if<FromImage>(&stage.operand)) {
      for (size_t i = inputs.size(); i <= image->input; ++i)
        inputs.push_back(numbers(DType::I8, op.result(), i));
      if (inputs[image->input].dtype() != image->type)
        inputs[image->input] = numbers(image->type, op.result(), image->input);
    }
  return inputs;
}

Program programOf(const Operator &op, const Schedule &schedule, const Configuration &configuration,
                  const std::vector<Tensor> &inputs) {
  CommandStream stream(configuration);
  std::vector<size_t> buffers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    buffers.push_back(stream.allocate(i == 0 ? "x" : "x" + std::to_string(i), Role::Input,
                                      inputs[i].dtype(), inputs[i].shape(),
                                      layoutOf(op.input, configuration)));
    stream.fill(buffers.back(), inputs[i]);
  }
  size_t result = stream.allocate("y", Role::Output, DType::I8, shapeOf(op.result()),
                                  layoutOf(op.result(), configuration));
  write(op, schedule, stream, buffers, result);
  return stream.finish();
}

Tensor outputOf(const Program &program, const Simulation &simulation, std::string_view name) {
  const Buffer &y = program.buffer(name);
  return unpack(std::span(simulation.dram).subspan(y.offset, y.bytes), y.dtype, y.shape, y.layout);
}

namespace {

std::string namesOf(const std::vector<AluStage> &stages) {
  std::string names;
  for (const AluStage &stage : stages) {
    constexpr std::array<const char *, 6> ops = {"add", "mul", "min", "max", "shift", "round"};
    names += std::string(" ") + ops[static_cast<size_t>(stage.op)] + " ";
    if (const auto *number = std::get_if<Immediate>(&stage.operand))
      names += std::to_string(number->value);
    else if (const auto *each = std::get_if<PerChannel>(&stage.operand))
      names += "each " + std::to_string(each->values[0]);
    else
      names += "input " + std::to_string(std::get<FromImage>(stage.operand).input);
  }
  return names;
}

} // namespace

Simulation expectRight(const Operator &op, const Schedule &schedule,
                       const Configuration &configuration, uint64_t seed) {
  std::vector<Tensor> inputs = randomInputs(op, seed);
  Program program = programOf(op, schedule, configuration, inputs);
  Simulation simulation = simulate(program);
  std::string what = op.name + ", stages" + namesOf(op.stages) + "\n" + textOf(schedule, op);
  EXPECT_FALSE(simulation.fault) << what << simulation.fault->what();
  if (simulation.fault)
    return simulation;
  Tensor found = outputOf(program, simulation), expected = expectedOf(op, inputs);
  EXPECT_EQ(std::memcmp(found.data(), expected.data(), expected.bytes()), 0) << what;
  EXPECT_GE(simulation.cycles * configuration.macsPerMicroOp(), simulation.work.macs) << what;
  EXPECT_GE(simulation.work.macs, op.macs()) << what;
  EXPECT_GE(simulation.cycles * 8, simulation.work.bytesRead()) << what;
  EXPECT_GE(simulation.cycles * 8, simulation.work.bytesWritten()) << what;
  return simulation;
}

Operator convolutionOf(const Layer &layer, int64_t batch) {
  Operator op = operatorOf(layer, batch);
  Tensor &weights = std::get<Convolution>(op.core).weights;
  weights = randomTensor(DType::I8, weights.shape(), 6, -16, 15);
  return op;
}

Operator denseOf(int64_t rows, int64_t columns, int64_t depth) {
  Operator op = convolutionOf({1, depth, columns, 1, 1}, rows);
  op.name = "dense";
  return op;
}

} // namespace headrace::vta::test
