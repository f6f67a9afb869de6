#include "runtime/vta/Programs.h"

#include <algorithm>

namespace headrace::vta::test {

namespace {

Layout accLayout(const Configuration &configuration) {
  std::array<int64_t, 2> blocks = {configuration.batch(), configuration.block()};
  // Also if a block is of one row: an axis of size 1 changes nothing.
  return blockedLayout(blocks);
}

std::string paddingName(const Padding &padding) {
  return std::to_string(padding.top) + std::to_string(padding.bottom) +
         std::to_string(padding.left) + std::to_string(padding.right);
}

} // namespace

TestProgram copyProgram(const Configuration &configuration, int rows, int columns,
                        Padding padding) {
  CommandStream stream(configuration);
  int64_t batch = configuration.batch(), block = configuration.block();
  int64_t height = rows + padding.top + padding.bottom,
          width = columns + padding.left + padding.right;
  Tensor x = randomTensor(DType::I32, {rows * batch, columns * block}, 1, -100000, 100000);
  size_t from = stream.allocate("x", Role::Input, DType::I32, x.shape(), accLayout(configuration));
  size_t to = stream.allocate("y", Role::Output, DType::I8, {height * batch, width * block},
                              accLayout(configuration));
  stream.fill(from, x);
  stream.load(Memory::Acc, 3, {from, 0, columns, rows}, padding);
  stream.push(Module::Compute, Module::Store);
  stream.pop(Module::Compute, Module::Store);
  stream.store({to, 0, width * height}, 3);
  TestProgram result{"copy" + paddingName(padding), stream.finish(), {}, ""};
  result.description = R"({"kind": "copy", "padding": [)" + std::to_string(padding.top) + "," +
                       std::to_string(padding.bottom) + "," + std::to_string(padding.left) + "," +
                       std::to_string(padding.right) + "]}";
  result.expected = Tensor::allocate(DType::I8, {height * batch, width * block});
  for (int64_t i = 0; i < height * batch; ++i)
    for (int64_t j = 0; j < width * block; ++j) {
      int64_t si = i - padding.top * batch, sj = j - padding.left * block;
      bool inside = si >= 0 && si < rows * batch && sj >= 0 && sj < columns * block;
      result.expected.as<int8_t>()[i * width * block + j] =
          inside ? static_cast<int8_t>(x.as<int32_t>()[si * columns * block + sj]) : int8_t{0};
    }
  return result;
}

TestProgram aluProgram(const Configuration &configuration, std::string name, int rows, int columns,
                       const std::vector<AluStep> &steps) {
  CommandStream stream(configuration);
  Shape shape = {int64_t{rows} * configuration.batch(), int64_t{columns} * configuration.block()};
  Tensor x = randomTensor(DType::I32, shape, 2, -2000, 2000);
  Tensor z = randomTensor(DType::I32, shape, 3, -5, 5); // shifts both ways, too
  size_t fromX = stream.allocate("x", Role::Input, DType::I32, shape, accLayout(configuration));
  size_t fromZ = stream.allocate("z", Role::Input, DType::I32, shape, accLayout(configuration));
  size_t to = stream.allocate("y", Role::Output, DType::I8, shape, accLayout(configuration));
  stream.fill(fromX, x);
  stream.fill(fromZ, z);
  int64_t count = int64_t{rows} * columns;
  stream.load(Memory::Acc, 0, {fromX, 0, count});
  stream.load(Memory::Acc, count, {fromZ, 0, count});
  std::string list;
  for (const AluStep &step : steps) {
    MicroCode code = step.imm ? MicroCode::alu(step.op, *step.imm) : MicroCode::alu(step.op);
    for (int64_t i = 0; i < count; ++i)
      code.add(i, count + i);
    stream.run(code);
    list += (list.empty() ? "" : ", ") + std::string("[\"") + std::string(nameOf(step.op)) +
            "\", " + (step.imm ? std::to_string(*step.imm) : "null") + "]";
  }
  stream.push(Module::Compute, Module::Store);
  stream.pop(Module::Compute, Module::Store);
  stream.store({to, 0, count}, 0);
  TestProgram result{std::move(name), stream.finish(), Tensor::allocate(DType::I8, shape),
                     R"({"kind": "alu", "steps": [)" + list + "]}"};
  for (int64_t i = 0; i < x.elements(); ++i) {
    int32_t value = x.as<int32_t>()[i];
    for (const AluStep &step : steps)
      value = applied(step.op, value, step.imm ? *step.imm : z.as<int32_t>()[i]);
    result.expected.as<int8_t>()[i] = static_cast<int8_t>(value);
  }
  return result;
}

TestProgram poolProgram(const Configuration &configuration, int channels, int size) {
  CommandStream stream(configuration);
  int64_t batch = configuration.batch(), block = configuration.block();
  int64_t blocks = channels / block, half = (size + 1) / 2, padded = size + 2;
  Shape shape = {batch, channels, size, size}, small = {batch, channels, half, half};
  Tensor x = randomTensor(DType::I8, shape, 4, 0, 127);
  std::array<int64_t, 4> tile = {batch, block, 1, 1};
  size_t from = stream.allocate("x", Role::Input, DType::I8, shape, blockedLayout(tile));
  size_t to = stream.allocate("y", Role::Output, DType::I8, small, blockedLayout(tile));
  stream.fill(from, x);
  for (int64_t c = 0; c < blocks; ++c) {
    int64_t results = padded * padded;
    if (c > 0)
      stream.pop(Module::Store, Module::Compute);
    stream.load(Memory::Acc8, 0, {from, c * size * size, size, size}, {1, 1, 1, 1});
    MicroCode clear = MicroCode::reset(), largest = MicroCode::alu(AluOp::Max);
    for (int64_t y = 0; y < half; ++y)
      for (int64_t x2 = 0; x2 < half; ++x2) {
        clear.add(results + y * half + x2);
        for (int64_t w = 0; w < 9; ++w)
          largest.add(results + y * half + x2, (2 * y + w / 3) * padded + 2 * x2 + w % 3);
      }
    stream.run(clear);
    stream.run(largest);
    stream.push(Module::Compute, Module::Store);
    stream.pop(Module::Compute, Module::Store);
    stream.store({to, c * half * half, half * half}, results);
    if (c + 1 < blocks)
      stream.push(Module::Store, Module::Compute);
  }
  TestProgram result{"pool", stream.finish(), Tensor::allocate(DType::I8, small),
                     R"({"kind": "pool"})"};
  for (int64_t plane = 0; plane < batch * channels; ++plane)
    for (int64_t y = 0; y < half; ++y)
      for (int64_t x2 = 0; x2 < half; ++x2) {
        int8_t value = 0;
        for (int64_t w = 0; w < 9; ++w) {
          int64_t sy = 2 * y + w / 3 - 1, sx = 2 * x2 + w % 3 - 1;
          if (sy >= 0 && sy < size && sx >= 0 && sx < size)
            value = std::max(value, x.as<int8_t>()[(plane * size + sy) * size + sx]);
        }
        result.expected.as<int8_t>()[(plane * half + y) * half + x2] = value;
      }
  return result;
}

std::vector<TestProgram> smallPrograms(const Configuration &configuration) {
  std::vector<TestProgram> programs;
  programs.push_back(copyProgram(configuration, 6, 6, {}));
  for (Padding padding :
       {Padding{2, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 2, 0}, {0, 0, 0, 2}, {1, 2, 3, 1}})
    programs.push_back(copyProgram(configuration, 3, 5, padding));
  for (AluOp op : {AluOp::Min, AluOp::Max, AluOp::Add, AluOp::Shr, AluOp::Mul}) {
    std::string name(nameOf(op));
    programs.push_back(aluProgram(configuration, "immediate" + name, 8, 8, {{op, 3}}));
    programs.push_back(aluProgram(configuration, "tensor" + name, 8, 8, {{op, {}}}));
  }
  programs.push_back(aluProgram(configuration, "shiftleft", 8, 8, {{AluOp::Shr, -3}}));
  programs.push_back(
      aluProgram(configuration, "relu", 8, 10, {{AluOp::Max, 0}, {AluOp::Min, 127}}));
  programs.push_back(aluProgram(configuration, "scale", 2, 8,
                                {{AluOp::Mul, {}}, {AluOp::Add, {}}, {AluOp::Shr, 4}}));
  programs.push_back(poolProgram(configuration, 64, 9));
  int64_t batch = configuration.batch(), block = configuration.block();
  for (int threads : {1, 2}) {
    programs.push_back(denseProgram(configuration, {batch, 4 * block, 4 * block, threads}));
    programs.push_back(denseProgram(configuration, {128, 128, 128, threads}));
    programs.push_back(convolutionProgram(configuration, {14, 64, 64, 3, 1, threads}));
    programs.push_back(
        convolutionProgram(configuration, {14, 64, 128, 3, 2, threads, 1, true, true}));
    programs.push_back(
        convolutionProgram(configuration, {7, 64, 64, 3, 1, threads, 1, true, true, true}));
    programs.push_back(
        convolutionProgram(configuration, {8, 64, 64, 3, 1, threads, 64 / block, false, true}));
  }
  programs.push_back(denseProgram(configuration, {128, 128, 128, 1, false}));
  programs.push_back(denseProgram(configuration, {16, 512, 1008, 2}));
  return programs;
}

} // namespace headrace::vta::test
