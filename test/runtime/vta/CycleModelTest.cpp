// The published constants, instruction by instruction.
#include "runtime/vta/Programs.h"
#include "runtime/vta/Simulator.h"
#include "runtime/vta/Timeline.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace headrace::vta {
namespace {

using namespace test;

Instruction transfer(Memory memory, int64_t elements, Opcode opcode = Opcode::Load) {
  Instruction instruction;
  instruction.opcode = static_cast<int64_t>(opcode);
  instruction.memory = static_cast<int64_t>(memory);
  instruction.xSize = elements;
  instruction.ySize = elements == 0 ? 0 : 1;
  return instruction;
}

Instruction sweep(Opcode opcode, int64_t count) {
  Instruction instruction;
  instruction.opcode = static_cast<int64_t>(opcode);
  instruction.uopEnd = 1;
  instruction.iterOut = 1;
  instruction.iterIn = count;
  return instruction;
}

int64_t cyclesOf(const std::vector<Instruction> &instructions) {
  return timingOf(instructions, Configuration(), {}).cycles;
}

TEST(VtaCycles, OfSingleInstructions) {
  EXPECT_EQ(cyclesOf({transfer(Memory::Inp, 10)}), 64 + 10 * 16 / 8);
  EXPECT_EQ(cyclesOf({transfer(Memory::Wgt, 3)}), 64 + 3 * 256 / 8);
  EXPECT_EQ(cyclesOf({transfer(Memory::Uop, 3)}), 64 + 2); // 12 bytes, rounded up
  EXPECT_EQ(cyclesOf({transfer(Memory::Acc, 2)}), 64 + 2 * 64 / 8);
  EXPECT_EQ(cyclesOf({transfer(Memory::Acc8, 2)}), 64 + 2 * 16 / 8);
  EXPECT_EQ(cyclesOf({transfer(Memory::Out, 5, Opcode::Store)}), 64 + 5 * 16 / 8);
  EXPECT_EQ(cyclesOf({transfer(Memory::Inp, 0)}), 1);
  EXPECT_EQ(cyclesOf({sweep(Opcode::Gemm, 100)}), 100);
  EXPECT_EQ(cyclesOf({sweep(Opcode::Alu, 100)}), 200);
  EXPECT_EQ(cyclesOf({sweep(Opcode::Gemm, 0)}), 1);
  EXPECT_EQ(cyclesOf({sweep(Opcode::Finish, 0)}), 1);
}

TEST(VtaCycles, PaddingIsFree) {
  Instruction padded = transfer(Memory::Inp, 10);
  padded.xPadLeft = padded.yPadTop = 3;
  EXPECT_EQ(cyclesOf({padded}), 64 + 20);
}

TEST(VtaCycles, ReadsShareAPortWritesHaveTheirOwn) {
  // Both ask in cycle 64: load first, 20 cycles; compute waits for it.
  Timing result = timingOf(std::vector{transfer(Memory::Inp, 10), transfer(Memory::Acc, 10)},
                           Configuration(), {});
  EXPECT_EQ(result.cycles, 64 + 20 + 80);
  EXPECT_EQ(result.modules[static_cast<size_t>(Module::Compute)].port, 20);
  EXPECT_EQ(cyclesOf({transfer(Memory::Inp, 10), transfer(Memory::Out, 10, Opcode::Store)}),
            64 + 20);
}

TEST(VtaCycles, ModulesWorkAtTheSameTimeUnlessTokensOrderThem) {
  Instruction load = transfer(Memory::Inp, 10), gemm = sweep(Opcode::Gemm, 100);
  EXPECT_EQ(cyclesOf({load, gemm}), 100);
  load.pushNext = 1;
  gemm.popPrev = 1;
  Timing result = timingOf(std::vector{load, gemm}, Configuration(), {});
  EXPECT_EQ(result.cycles, 84 + 100);
  const ModuleUse &compute = result.modules[static_cast<size_t>(Module::Compute)];
  EXPECT_EQ(compute.waiting[static_cast<size_t>(Queue::LoadToCompute)], 84);
  EXPECT_EQ(compute.busy, 100);
  EXPECT_EQ(result.modules[static_cast<size_t>(Module::Load)].idle, 100);
}

TEST(VtaCycles, FewerBytesACycleAreNeverFaster) {
  for (const TestProgram &item : smallPrograms({})) {
    int64_t before = std::numeric_limits<int64_t>::max();
    for (int64_t bytes : {4, 8, 16}) {
      CycleConstants constants;
      constants.bytesPerCycle = bytes;
      int64_t cycles = cyclesWith(item.program, constants);
      EXPECT_LE(cycles, before) << item.name;
      before = cycles;
    }
  }
}

TEST(VtaCycles, WorkIsCounted) {
  Simulation simulation = simulate(denseProgram({}, {128, 128, 128, 2}).program);
  ASSERT_FALSE(simulation.fault);
  EXPECT_EQ(simulation.work.macs, 128 * 128 * 128);
  EXPECT_EQ(simulation.work.gemmMicroOps, 128 * 8 * 8 + 128 * 8); // clearing, too
  EXPECT_EQ(simulation.work.aluMicroOps, 3 * 128 * 8);
  EXPECT_EQ(simulation.work.aluOps, 3 * 128 * 128);
  EXPECT_EQ(simulation.work.bytesWritten(), 128 * 128);
}

TEST(VtaTimeline, TraceHasEveryInstruction) {
  Simulation simulation = simulate(denseProgram({}, {128, 128, 128, 2}).program);
  auto json = nlohmann::json::parse(timelineTrace(simulation));
  int64_t busy = 0;
  size_t events = 0;
  for (const auto &event : json["traceEvents"])
    if (event["ph"] == "X") {
      ++events;
      busy += event["dur"].get<int64_t>();
    }
  EXPECT_EQ(events, simulation.instructions.size());
  int64_t expected = 0;
  for (const ModuleUse &use : simulation.modules)
    expected += use.busy + use.port;
  EXPECT_EQ(busy, expected);
}

TEST(VtaTimeline, PictureStaysSmall) {
  TestProgram item = denseProgram({}, {512, 512, 64, 2});
  std::string svg = timelineSvg(simulate(item.program), {}, "a < b & c");
  EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
  EXPECT_LT(svg.size(), 2000000u);
}

} // namespace
} // namespace headrace::vta
