// Several operators in one program, with what they share on the chip and in DRAM.
#include "target/vta/Reference.h"

#include <cstring>
#include <gtest/gtest.h>

namespace headrace::vta {
namespace {

using namespace test;
using Op = AluStage::Op;

Convolution weightsOf(Shape shape, int64_t pad, uint64_t seed) {
  Convolution core;
  core.weights = randomTensor(DType::I8, std::move(shape), seed, -16, 15);
  core.padTop = core.padBottom = core.padLeft = core.padRight = pad;
  return core;
}

std::vector<AluStage> rounded(int64_t channels, int bits) {
  PerChannel bias;
  for (int64_t c = 0; c < channels; ++c)
    bias.values.push_back(static_cast<int32_t>(c * 37 - 100));
  return {{Op::Add, bias},
          {Op::RoundShiftRight, Immediate{bits}},
          {Op::Max, Immediate{0}},
          {Op::Min, Immediate{127}}};
}

// Convolution of 3 channels, pooling, a residual, a depthwise one, a dense layer of 10 results.
TEST(VtaNetworks, OperatorsFollowEachOtherInOneProgram) {
  for (const char *name : {"block16", "block32", "batch2"}) {
    Configuration configuration = exampleConfiguration(name);
    int64_t batch = 3;
    std::vector<Operator> network;
    network.push_back(
        {"first", {batch, 3, 12, 12}, weightsOf({20, 3, 3, 3}, 1, 1), rounded(20, 6)});
    network.push_back({"pool", {batch, 20, 12, 12}, MaxPool{{2, 2}, 2, 2}, {}});
    network.push_back(
        {"second", {batch, 20, 6, 6}, weightsOf({20, 20, 3, 3}, 1, 2), rounded(20, 9)});
    network.back().stages.insert(network.back().stages.begin() + 1,
                                 {Op::Add, FromImage{1, DType::I8, 4}});
    Convolution depthwise = weightsOf({20, 1, 3, 3}, 0, 3);
    depthwise.groups = 20;
    network.push_back({"third", {batch, 20, 6, 6}, depthwise, rounded(20, 5)});
    network.push_back(
        {"dense", {batch, 20, 4, 4}, weightsOf({10, 20, 4, 4}, 0, 4), rounded(10, 8)});

    CommandStream stream(configuration);
    auto allocate = [&](const std::string &buffer, Role role, const Image &image) {
      return stream.allocate(buffer, role, DType::I8,
                             {image.batch, image.channels, image.height, image.width},
                             layoutOf(image, configuration));
    };
    Tensor x = randomInputs(network[0], 9)[0];
    std::vector<size_t> buffers = {allocate("x", Role::Input, network[0].input)};
    stream.fill(buffers[0], x);
    std::vector<Tensor> values = {x};
    for (const Operator &op : network) {
      bool isLast = op.name == "dense";
      buffers.push_back(
          allocate(isLast ? "y" : op.name, isLast ? Role::Output : Role::Temporary, op.result()));
      // The residual is what the operator itself reads.
      std::array<size_t, 2> inputs = {buffers[buffers.size() - 2], buffers[buffers.size() - 2]};
      write(op, propose(op, configuration), stream, inputs, buffers.back());
      values.push_back(expectedOf(op, {values.back(), values.back()}));
    }
    Program program = stream.finish();
    EXPECT_EQ(program.steps.size(), network.size());
    for (uint64_t seed : {0, 1}) {
      Simulation simulation = simulate(program, {seed, {}});
      ASSERT_FALSE(simulation.fault) << simulation.fault->what();
      for (size_t i = 0; i < network.size(); ++i) {
        Tensor found =
            outputOf(program, simulation, i + 1 == network.size() ? "y" : network[i].name);
        EXPECT_EQ(std::memcmp(found.data(), values[i + 1].data(), found.bytes()), 0)
            << network[i].name;
      }
    }
  }
}

int64_t weightLoads(const Simulation &simulation) {
  int64_t loads = 0;
  for (const Instruction &instruction : simulation.instructions)
    loads += instruction.op() == Opcode::Load && instruction.mem() == Memory::Wgt ? 1 : 0;
  return loads;
}

TEST(VtaThreads, ShareTheWeightsOfOneLoad) {
  Operator op = convolutionOf({14, 512, 64, 3, 1}, 1); // more weights than the chip holds
  Schedule one{1, 7, 7, 4, 4}, two{1, 7, 7, 4, 4, 2, Schedule::Along::Rows};
  Simulation alone = expectRight(op, one, {}), together = expectRight(op, two, {});
  EXPECT_EQ(together.work.bytes[static_cast<size_t>(Memory::Inp)],
            alone.work.bytes[static_cast<size_t>(Memory::Inp)]);
  EXPECT_LT(weightLoads(together), weightLoads(alone));
  EXPECT_LT(together.cycles, alone.cycles);
}

TEST(VtaThreads, WeightsThatFitStayOnTheChip) {
  Operator op = convolutionOf({28, 64, 64, 3, 1}, 1);
  Simulation simulation = expectRight(op, {1, 7, 14, 2, 2, 2, Schedule::Along::Rows}, {});
  EXPECT_EQ(simulation.work.bytes[static_cast<size_t>(Memory::Wgt)], 64 * 64 * 9);
}

// Two groups of 40 channels share the third block: the one has it alone on the chip, the other with
// the fourth.
TEST(VtaTransfers, PartsOfOverlappingGroupsAreNotTakenForEachOther) {
  Operator op = convolutionOf({4, 40, 32, 1, 1}, 1);
  op.input.channels = 80;
  std::get<Convolution>(op.core).groups = 2;
  for (int64_t threads : {1, 2})
    for (Schedule::Keep keep : {Schedule::Keep::Weights, Schedule::Keep::Inputs})
      expectRight(op, {1, 4, 4, 1, 2, threads, Schedule::Along::In, keep}, {});
}

TEST(VtaThreads, HideTransfers) {
  Operator op = convolutionOf({14, 64, 64, 3, 1}, 1);
  EXPECT_LT(expectRight(op, propose(op, {}, 2), {}).cycles,
            expectRight(op, propose(op, {}, 1), {}).cycles);
}

// Rows between windows of one row are not read.
TEST(VtaTransfers, RowsThatNoWindowCoversStayInDram) {
  Operator op = convolutionOf({28, 16, 16, 1, 2}, 1);
  Simulation simulation = expectRight(op, {1, 14, 14, 1, 1}, {});
  EXPECT_EQ(simulation.work.bytes[static_cast<size_t>(Memory::Inp)], 14 * 27 * 16);
}

} // namespace
} // namespace headrace::vta
