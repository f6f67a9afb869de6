// Dense layers by hand, and convolutions on proposed schedules.
#include "runtime/vta/Contexts.h"
#include "runtime/vta/Programs.h"
#include "runtime/vta/Tiles.h"
#include "target/vta/schedule/choose/ProposeSchedule.h"
#include "target/vta/schedule/write/WriteCommands.h"

namespace headrace::vta::test {

namespace {

constexpr int shift = 8;

int8_t clipped(int32_t value) { return static_cast<int8_t>(std::clamp(value, -128, 127)); }

void clip(CommandStream &stream, int64_t first, int64_t count) {
  for (auto [op, bound] : {std::pair(AluOp::Min, 127), {AluOp::Max, -128}}) {
    MicroCode code = MicroCode::alu(op, bound);
    for (int64_t i = 0; i < count; ++i)
      code.add(first + i);
    stream.run(code);
  }
}

void apply(CommandStream &stream, AluOp op, int imm, int64_t first, int64_t count) {
  MicroCode code = MicroCode::alu(op, imm);
  for (int64_t i = 0; i < count; ++i)
    code.add(first + i);
  stream.run(code);
}

vta::Operator operatorOf(const Convolution &shape, const Tensor &x, const Tensor &w,
                         const Tensor &bias) {
  using Op = AluStage::Op;
  int64_t pad = shape.window / 2;
  std::vector<AluStage> stages = {{Op::ShiftRight, Immediate{shift}}};
  if (shape.bias) {
    PerChannel each{{bias.as<int32_t>(), bias.as<int32_t>() + shape.out}};
    stages.insert(stages.begin(), {Op::Add, each});
  }
  if (shape.relu)
    stages.push_back({Op::Max, Immediate{0}});
  if (shape.residual)
    stages.push_back({Op::Add, FromImage{1, DType::I8}});
  stages.push_back({Op::Min, Immediate{127}});
  stages.push_back({Op::Max, Immediate{-128}});
  return {"conv",
          {x.shape()[0], shape.in, shape.image, shape.image},
          vta::Convolution{{shape.stride, shape.stride, pad, pad, pad, pad}, w, shape.groups},
          stages};
}

Program writeConvolution(const Configuration &configuration, const Convolution &shape,
                         const Tensor &x, const Tensor &w, const Tensor &bias,
                         const Tensor &residual) {
  Operator op = operatorOf(shape, x, w, bias);
  CommandStream stream(configuration);
  auto allocate = [&](std::string name, Role role, const Tensor &values) {
    return stream.allocate(std::move(name), role, DType::I8, values.shape(),
                           layoutOf(op.input, configuration));
  };
  std::vector<size_t> inputs = {allocate("x", Role::Input, x)};
  stream.fill(inputs[0], x);
  if (shape.residual) {
    inputs.push_back(allocate("residual", Role::Input, residual));
    stream.fill(inputs[1], residual);
  }
  write(op, propose(op, configuration, shape.threads), stream, inputs,
        allocate("y", Role::Output, residual));
  return stream.finish();
}

// A row of results at a time, so that the innermost loop is long.
Tensor convolve(const Convolution &shape, const Tensor &x, const Tensor &w, const Tensor &bias,
                const Tensor &residual) {
  int64_t batch = x.shape()[0], image = shape.image, pad = shape.window / 2;
  int64_t results = (image + 2 * pad - shape.window) / shape.stride + 1;
  int64_t in = shape.in / shape.groups, out = shape.out / shape.groups;
  Tensor y = Tensor::allocate(DType::I8, {batch, shape.out, results, results});
  std::vector<int32_t> row(static_cast<size_t>(results));
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t o = 0; o < shape.out; ++o)
      for (int64_t oy = 0; oy < results; ++oy) {
        std::ranges::fill(row, shape.bias ? bias.as<int32_t>()[o] : 0);
        for (int64_t i = 0; i < in; ++i)
          for (int64_t k = 0; k < shape.window * shape.window; ++k) {
            int64_t sy = oy * shape.stride + k / shape.window - pad,
                    shiftX = k % shape.window - pad;
            if (sy < 0 || sy >= image)
              continue;
            const int8_t *from =
                x.as<int8_t>() + ((n * shape.in + o / out * in + i) * image + sy) * image;
            int32_t weight = w.as<int8_t>()[(o * in + i) * shape.window * shape.window + k];
            for (int64_t ox = 0; ox < results; ++ox)
              if (int64_t sx = ox * shape.stride + shiftX; sx >= 0 && sx < image)
                row[static_cast<size_t>(ox)] += weight * from[sx];
          }
        for (int64_t ox = 0; ox < results; ++ox) {
          int64_t at = ((n * shape.out + o) * results + oy) * results + ox;
          int32_t value = row[static_cast<size_t>(ox)] >> shift;
          value = shape.relu ? std::max(value, 0) : value;
          value += shape.residual ? residual.as<int8_t>()[at] : 0;
          y.as<int8_t>()[at] = clipped(value);
        }
      }
  return y;
}

std::string flag(bool value) { return value ? "true" : "false"; }

} // namespace

TestProgram convolutionProgram(const Configuration &configuration, const Convolution &shape) {
  int64_t batch = configuration.batch(), pad = shape.window / 2;
  int64_t results = (shape.image + 2 * pad - shape.window) / shape.stride + 1;
  Tensor x = randomTensor(DType::I8, {batch, shape.in, shape.image, shape.image}, 5, -128, 127);
  Tensor w = randomTensor(
      DType::I8, {shape.out, shape.in / shape.groups, shape.window, shape.window}, 6, -16, 15);
  Tensor bias = randomTensor(DType::I32, {shape.out}, 7, -3000, 3000);
  Tensor residual = randomTensor(DType::I8, {batch, shape.out, results, results}, 8, -128, 127);
  std::string name = "conv" + std::to_string(shape.image) + "_" + std::to_string(shape.in) + "_" +
                     std::to_string(shape.out) + "_" + std::to_string(shape.window) + "s" +
                     std::to_string(shape.stride) + (shape.groups > 1 ? "g" : "") + "_t" +
                     std::to_string(shape.threads);
  std::string description = R"({"kind": "conv", "stride": )" + std::to_string(shape.stride) +
                            ", \"groups\": " + std::to_string(shape.groups) +
                            ", \"shift\": " + std::to_string(shift) +
                            ", \"bias\": " + flag(shape.bias) + ", \"relu\": " + flag(shape.relu) +
                            ", \"residual\": " + flag(shape.residual) + "}";
  return {name, writeConvolution(configuration, shape, x, w, bias, residual),
          convolve(shape, x, w, bias, residual), description};
}

TestProgram denseProgram(const Configuration &configuration, const Dense &dense) {
  CommandStream stream(configuration);
  stream.setCompression(dense.compressed);
  int64_t batch = configuration.batch(), block = configuration.block();
  int64_t rows = blocksOf(dense.rows, batch), columns = blocksOf(dense.columns, block),
          depth = blocksOf(dense.depth, block);
  Tensor a = randomTensor(DType::I8, {dense.rows, dense.depth}, 9, -128, 127);
  Tensor w = randomTensor(DType::I8, {dense.columns, dense.depth}, 10, -16, 15);
  std::array<int64_t, 2> narrow = {batch, block}, square = {block, block};
  size_t aBuffer = stream.allocate("a", Role::Input, DType::I8, a.shape(), blockedLayout(narrow));
  size_t wBuffer = stream.allocate("w", Role::Weight, DType::I8, w.shape(), blockedLayout(square));
  size_t yBuffer = stream.allocate("y", Role::Output, DType::I8, {dense.rows, dense.columns},
                                   blockedLayout(narrow));
  stream.fill(aBuffer, a);
  stream.fill(wBuffer, w);
  Tile tile = Tiled{rows, columns, depth, dense.threads}.choose(configuration);
  Contexts inputs(stream, Module::Load, Module::Compute, dense.threads);
  Contexts outputs(stream, Module::Compute, Module::Store, dense.threads);
  auto part = [&](Memory memory) {
    return static_cast<int64_t>(configuration.depth(memory)) / dense.threads;
  };
  for (int64_t r = 0; r < rows; r += tile.rows)
    for (int64_t c = 0; c < columns; c += tile.out) {
      int64_t height = std::min(tile.rows, rows - r);
      int64_t acc = outputs.fill() * part(Memory::Acc);
      MicroCode clear = MicroCode::reset();
      for (int64_t i = 0; i < height * tile.out; ++i)
        clear.add(acc + i);
      stream.run(clear);
      for (int64_t d = 0; d < depth; d += tile.in) {
        int context = inputs.fill();
        stream.load(Memory::Wgt, context * part(Memory::Wgt),
                    {wBuffer, c * depth + d, tile.in, tile.out, depth});
        stream.load(Memory::Inp, context * part(Memory::Inp),
                    {aBuffer, r * depth + d, tile.in, height, depth});
        inputs.filled();
        inputs.use();
        MicroCode code = MicroCode::gemm();
        for (int64_t i = 0; i < height; ++i)
          for (int64_t o = 0; o < tile.out; ++o)
            for (int64_t k = 0; k < tile.in; ++k)
              code.add(acc + i * tile.out + o, context * part(Memory::Inp) + i * tile.in + k,
                       context * part(Memory::Wgt) + o * tile.in + k);
        stream.run(code);
        inputs.used();
      }
      apply(stream, AluOp::Shr, shift, acc, height * tile.out);
      clip(stream, acc, height * tile.out);
      outputs.filled();
      outputs.use();
      stream.store({yBuffer, r * columns + c, tile.out, height, columns}, acc);
      outputs.used();
    }
  inputs.drain();
  outputs.drain();
  TestProgram result{"dense" + std::to_string(dense.rows) + "_" + std::to_string(dense.columns) +
                         "_" + std::to_string(dense.depth) + "_t" + std::to_string(dense.threads) +
                         (dense.compressed ? "" : "_flat"),
                     stream.finish(), Tensor::allocate(DType::I8, {dense.rows, dense.columns}),
                     R"({"kind": "dense", "shift": )" + std::to_string(shift) + "}"};
  for (int64_t i = 0; i < dense.rows; ++i)
    for (int64_t j = 0; j < dense.columns; ++j) {
      int32_t sum = 0;
      for (int64_t k = 0; k < dense.depth; ++k)
        sum += int32_t{a.as<int8_t>()[i * dense.depth + k]} * w.as<int8_t>()[j * dense.depth + k];
      result.expected.as<int8_t>()[i * dense.columns + j] = clipped(sum >> shift);
    }
  return result;
}

} // namespace headrace::vta::test
