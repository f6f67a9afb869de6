// Dense layers and convolutions: tiles, virtual threads, padding by LOAD, epilogues on the ALU.
#include "runtime/vta/Contexts.h"
#include "runtime/vta/Programs.h"
#include "runtime/vta/Tiles.h"

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

class ConvolutionWriter {
public:
  ConvolutionWriter(const Configuration &configuration, const Convolution &shape)
      : shape(shape), stream(configuration), batch(configuration.batch()),
        block(configuration.block()),
        results((shape.image + 2 * pad() - shape.window) / shape.stride + 1),
        inBlocks(shape.in / shape.groups / block), outBlocks(shape.out / shape.groups / block),
        biasBlocks(shape.bias ? shape.out / block : 0),
        tiled{results,      results,      outBlocks,     inBlocks,
              shape.window, shape.stride, shape.threads, shape.threads},
        tile(chooseTile()), inputs(stream, Module::Load, Module::Compute, shape.threads),
        outputs(stream, Module::Compute, Module::Store, shape.threads) {}

  Program write(const Tensor &x, const Tensor &w, const Tensor &bias, const Tensor &residual) {
    std::array<int64_t, 4> image = {batch, block, 1, 1}, filter = {block, block, 1, 1};
    xBuffer = stream.allocate("x", Role::Input, DType::I8, x.shape(), blockedLayout(image));
    wBuffer = stream.allocate("w", Role::Weight, DType::I8, w.shape(), blockedLayout(filter));
    stream.fill(xBuffer, x);
    stream.fill(wBuffer, w);
    if (shape.bias) {
      std::array<int64_t, 2> rows = {batch, block};
      size_t buffer =
          stream.allocate("bias", Role::Weight, DType::I32, bias.shape(), blockedLayout(rows));
      stream.fill(buffer, bias);
      stream.load(Memory::Acc, 0, {buffer, 0, biasBlocks});
    }
    if (shape.residual) {
      rBuffer = stream.allocate("residual", Role::Input, DType::I8, residual.shape(),
                                blockedLayout(image));
      stream.fill(rBuffer, residual);
    }
    yBuffer = stream.allocate("y", Role::Output, DType::I8, {batch, shape.out, results, results},
                              blockedLayout(image));
    for (int64_t group = 0; group < shape.groups; ++group)
      for (int64_t o = 0; o < outBlocks; o += tile.out)
        writeTiles(group, o);
    inputs.drain();
    outputs.drain();
    return stream.finish();
  }

private:
  struct Spot {
    int64_t y, x, rows, columns;
    int64_t acc = 0; ///< where its results are on the chip
    int64_t count(int64_t out) const { return rows * columns * out; }
  };

  int64_t pad() const { return shape.window / 2; }

  Tile chooseTile() const {
    // A residual has a place of its own beside each tile of results.
    Tile best = tiled.choose(stream.configuration(), biasBlocks);
    if (shape.residual)
      best.out = 1;
    return best;
  }

  int64_t accPart() const {
    return (static_cast<int64_t>(stream.configuration().depth(Memory::Acc)) - biasBlocks) /
           shape.threads;
  }

  // As many tiles at a time as there are threads: they share their weights.
  void writeTiles(int64_t group, int64_t out) {
    std::vector<Spot> spots;
    for (int64_t y = 0; y < results; y += tile.rows)
      for (int64_t x = 0; x < results; x += tile.columns)
        spots.push_back(
            {y, x, std::min(tile.rows, results - y), std::min(tile.columns, results - x)});
    for (size_t i = 0; i < spots.size(); i += static_cast<size_t>(shape.threads)) {
      size_t end = std::min(spots.size(), i + static_cast<size_t>(shape.threads));
      writeTogether(std::span(spots).subspan(i, end - i), group, out);
    }
  }

  void writeTogether(std::span<Spot> spots, int64_t group, int64_t out) {
    for (Spot &spot : spots) {
      spot.acc = biasBlocks + outputs.fill() * accPart();
      MicroCode clear = MicroCode::reset();
      for (int64_t i = 0; i < spot.count(tile.out); ++i)
        clear.add(spot.acc + i);
      stream.run(clear);
    }
    for (int64_t in = 0; in < inBlocks; in += tile.in, ++steps) {
      int64_t wgt =
          (steps % 2) * static_cast<int64_t>(stream.configuration().depth(Memory::Wgt)) / 2;
      for (const Spot &spot : spots) {
        int64_t inp = inputs.fill() * inpPart();
        if (&spot == &spots.front())
          loadWeights(wgt, group, out, in);
        loadInput(inp, spot, group, in);
        inputs.filled();
      }
      for (const Spot &spot : spots) {
        multiply(spot, inputs.use() * inpPart(), wgt);
        inputs.used();
      }
    }
    for (const Spot &spot : spots) {
      finishTile(spot, group, out);
      outputs.filled();
      outputs.use();
      for (int64_t o = 0; o < tile.out; ++o)
        stream.store(sliceOf(yBuffer, spot, group, out + o),
                     spot.acc + o * spot.rows * spot.columns);
      outputs.used();
    }
  }

  int64_t inpPart() const {
    return static_cast<int64_t>(stream.configuration().depth(Memory::Inp)) / shape.threads;
  }

  Slice sliceOf(size_t buffer, const Spot &spot, int64_t group, int64_t out) const {
    int64_t plane = group * outBlocks + out;
    return {buffer, (plane * results + spot.y) * results + spot.x, spot.columns, spot.rows,
            results};
  }

  void loadWeights(int64_t wgt, int64_t group, int64_t out, int64_t in) {
    int64_t area = shape.window * shape.window;
    stream.load(Memory::Wgt, wgt,
                {wBuffer, ((group * outBlocks + out) * inBlocks + in) * area, tile.in * area,
                 tile.out, inBlocks * area});
  }

  void loadInput(int64_t inp, const Spot &spot, int64_t group, int64_t in) {
    int64_t top = spot.y * shape.stride - pad(), left = spot.x * shape.stride - pad();
    int64_t bottom = top + tiled.across(spot.rows), right = left + tiled.across(spot.columns);
    Padding padding = {std::max<int64_t>(0, -top), std::max<int64_t>(0, bottom - shape.image),
                       std::max<int64_t>(0, -left), std::max<int64_t>(0, right - shape.image)};
    int64_t y = std::max<int64_t>(0, top), x = std::max<int64_t>(0, left);
    int64_t rows = std::min(bottom, shape.image) - y, columns = std::min(right, shape.image) - x;
    for (int64_t i = 0; i < tile.in; ++i) {
      int64_t plane = group * inBlocks + in + i;
      stream.load(
          Memory::Inp, inp + i * (bottom - top) * (right - left),
          {xBuffer, (plane * shape.image + y) * shape.image + x, columns, rows, shape.image},
          padding);
    }
  }

  void multiply(const Spot &spot, int64_t inp, int64_t wgt) {
    int64_t height = tiled.across(spot.rows), width = tiled.across(spot.columns);
    MicroCode code = MicroCode::gemm();
    for (int64_t y = 0; y < spot.rows; ++y)
      for (int64_t x = 0; x < spot.columns; ++x)
        for (int64_t o = 0; o < tile.out; ++o)
          for (int64_t i = 0; i < tile.in; ++i)
            for (int64_t ky = 0; ky < shape.window; ++ky)
              for (int64_t kx = 0; kx < shape.window; ++kx)
                code.add(spot.acc + (o * spot.rows + y) * spot.columns + x,
                         inp + (i * height + y * shape.stride + ky) * width + x * shape.stride + kx,
                         wgt + ((o * tile.in + i) * shape.window + ky) * shape.window + kx);
    stream.run(code);
  }

  void finishTile(const Spot &spot, int64_t group, int64_t out) {
    int64_t plane = spot.rows * spot.columns, count = spot.count(tile.out);
    if (shape.bias) {
      MicroCode code = MicroCode::alu(AluOp::Add);
      for (int64_t i = 0; i < count; ++i)
        code.add(spot.acc + i, group * outBlocks + out + i / plane);
      stream.run(code);
    }
    apply(stream, AluOp::Shr, shift, spot.acc, count);
    if (shape.relu)
      apply(stream, AluOp::Max, 0, spot.acc, count);
    if (shape.residual) {
      int64_t beside = spot.acc + count;
      stream.load(Memory::Acc8, beside, sliceOf(rBuffer, spot, group, out));
      MicroCode code = MicroCode::alu(AluOp::Add);
      for (int64_t i = 0; i < count; ++i)
        code.add(spot.acc + i, beside + i);
      stream.run(code);
    }
    clip(stream, spot.acc, count);
  }

  const Convolution &shape;
  CommandStream stream;
  int64_t batch, block, results, inBlocks, outBlocks, biasBlocks;
  Tiled tiled;
  Tile tile;
  Contexts inputs, outputs;
  int64_t steps = 0;
  size_t xBuffer = 0, wBuffer = 0, rBuffer = 0, yBuffer = 0;
};

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
  // The same for every image: an accumulator has one for each.
  Tensor bias = Tensor::allocate(DType::I32, {batch, shape.out});
  Tensor one = randomTensor(DType::I32, {shape.out}, 7, -3000, 3000);
  for (int64_t i = 0; i < bias.elements(); ++i)
    bias.as<int32_t>()[i] = one.as<int32_t>()[i % shape.out];
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
  return {name, ConvolutionWriter(configuration, shape).write(x, w, bias, residual),
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
  Tile tile = Tiled{rows, 1, columns, depth, 1, 1, dense.threads, 1}.choose(configuration, 0);
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
