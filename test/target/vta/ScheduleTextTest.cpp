// Schedules as lines of a recipe, and the reasons why one cannot be.
#include "runtime/system/Error.h"
#include "target/vta/Reference.h"
#include "target/vta/schedule/choose/ScheduleReport.h"

#include <gtest/gtest.h>

namespace headrace::vta {
namespace {

using namespace test;

const char *const convolutionText = "tile batch=1 rows=7 columns=14 out=4 in=2\n"
                                    "keep weights\n"
                                    "cache_read x in inp\n"
                                    "cache_read w in wgt\n"
                                    "cache_write y in acc\n"
                                    "tensorize gemm\n"
                                    "vthread 2 along rows\n";

Operator convolution() { return convolutionOf({14, 64, 64, 3, 1}, 1); }
Operator pooling() { return {"pool1", {1, 64, 14, 14}, MaxPool{{2, 2}, 2, 2}, {}}; }

TEST(VtaScheduleText, ASchedulesTextIsParsedBack) {
  Schedule schedule = parseSchedule(convolutionText, convolution());
  EXPECT_EQ(schedule.rows, 7);
  EXPECT_EQ(schedule.in, 2);
  EXPECT_EQ(schedule.threads, 2);
  EXPECT_EQ(schedule.along, Schedule::Along::Rows);
  EXPECT_EQ(textOf(schedule, convolution()), convolutionText);
  for (const Operator &op : {convolution(), pooling()})
    for (const Schedule &each : alternatives(op, {}, 200)) {
      EXPECT_EQ(parseSchedule(textOf(each, op), op), each);
      Schedule copy;
      for (std::string_view name : Schedule::parameterNames())
        copy.setParameter(name, each.parameter(name));
      EXPECT_EQ(copy, each);
    }
}

TEST(VtaScheduleText, CommentsSpacesAndOrderDoNotMatter) {
  std::string text = "# by hand\n\n  tensorize   alu # on the ALU\r\ncache_write y in acc\n"
                     "tile out=2 rows=3\ncache_read x in acc";
  Schedule schedule = parseSchedule(text, pooling());
  EXPECT_EQ(schedule.out, 2);
  EXPECT_EQ(schedule.rows, 3);
  EXPECT_EQ(schedule.threads, 1);
}

void expectRefused(std::string text, const Operator &op, const std::string &reason) {
  try {
    parseSchedule(text, op);
    ADD_FAILURE() << "accepted: " << text;
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }
}

TEST(VtaScheduleText, WrongTextIsRefusedWithItsLineAndReason) {
  Operator op = convolution();
  std::string head = "tile rows=7\n";
  expectRefused("", op, "has no step");
  expectRefused(head, op, "has no step 'cache_read w in wgt'");
  expectRefused(head + "tile rows=8\n", op,
                "line 2 of the schedule of '14, 64 -> 64, 3/1': a second step 'tile'");
  expectRefused("tile rows=0\n", op, "line 1");
  expectRefused("tile rows=-1\n", op, "expected a number from 1 on, got '-1'");
  expectRefused("tile rows=99999999999999999999\n", op, "expected a number from 1 on");
  expectRefused("tile rows\n", op, "got 'rows'");
  expectRefused("tile depth=3\n", op, "got 'depth=3'");
  expectRefused("tile rows=3 rows=3\n", op, "a second 'rows'");
  expectRefused("tile in=1\n", pooling(), "a tile has no 'in'");
  expectRefused("keep nothing\n", op, "expected 'keep' and weights or inputs");
  expectRefused("\n\nvthread 3 along rows\n", op, "line 3");
  expectRefused("vthread 2\n", op,
                "expected 'vthread 1' or 'vthread 2 along' and in, out, batch, rows or columns");
  expectRefused("cache_read x in acc\n", op, "got 'cache_read x in acc'");
  expectRefused("tensorize gemm\n", pooling(), "got 'tensorize gemm'");
  expectRefused("unroll 3\n", op, "got 'unroll 3'");
}

std::string refusal(const Operator &op, Schedule schedule) {
  return unsupportedReason(op, schedule, Configuration());
}

TEST(VtaLegalSchedules, AreRefusedWithTheMemoryThatDoesNotHold) {
  Operator op = convolutionOf({28, 128, 512, 3, 1}, 1);
  EXPECT_EQ(refusal(op, {1, 14, 14, 1, 8, 2}),
            "a tile of 14 x 14 x 8 takes 2048 elements of INP, a virtual thread has 1024");
  EXPECT_EQ(refusal(op, {1, 14, 14, 4, 8}), "");
  EXPECT_EQ(refusal(op, {1, 7, 7, 32, 8}),
            "a tile of 32 x 8 blocks of channels takes 2304 elements of WGT, there are 1024");
  EXPECT_EQ(refusal(op, {1, 14, 14, 12, 1}),
            "a tile of 14 x 14 x 12 takes 2352 elements of ACC, there are 2048");
  EXPECT_EQ(refusal(op, {1, 29, 1, 1, 1}), "rows=29, expected 1 to 28");
  EXPECT_EQ(refusal(op, {1, 1, 1, 1, 1, 3}), "3 virtual threads, expected 1 or 2");
  EXPECT_EQ(refusal(op, {2, 1, 1, 1, 1}), "batch=2, expected 1 to 1");
  EXPECT_EQ(refusal(op, {1, 4, 4, 1, 1, 2, Schedule::Along::Batch}),
            "two virtual threads have one tile along their loop");
}

TEST(VtaLegalSchedules, ACopyOfTheTileTakesRoomInAcc) {
  Operator op = convolutionOf({28, 128, 512, 3, 1}, 1);
  Schedule schedule{1, 14, 14, 8, 1};
  EXPECT_EQ(refusal(op, schedule), "");
  op.stages[0].op = AluStage::Op::RoundShiftRight;
  EXPECT_EQ(refusal(op, schedule), "a tile of 14 x 14 x 8, next to 1568 elements of constants and "
                                   "copies, takes 1568 elements of ACC, there are 480");
}

std::string refusalOf(const Operator &op) { return unsupportedReason(op, Configuration()); }

TEST(VtaLegalOperators, AreRefusedWithTheReason) {
  Operator op = convolution();
  auto core = [&]() -> Convolution & { return std::get<Convolution>(op.core); };
  EXPECT_EQ(refusalOf(op), "");
  core().padTop = 3;
  EXPECT_EQ(refusalOf(op), "with a padding of 3, a window of 3 covers only padding");
  core().padTop = -1;
  EXPECT_EQ(refusalOf(op), "a padding of -1, expected 0 or more");
  core().padTop = 16;
  EXPECT_EQ(refusalOf(op), "a padding of 16, a load makes at most 15");
  op = convolution();
  core().groups = 3;
  EXPECT_EQ(refusalOf(op), "weights of 64x64x3x3 do not fit 64 channels in 3 groups");
  op = convolution();
  op.input.height = 0;
  EXPECT_EQ(refusalOf(op), "the input's height is 0, expected 1 or more");
  op = convolution();
  core().weights = Tensor::allocate(DType::F32, {64, 64, 3, 3});
  EXPECT_EQ(refusalOf(op), "expected 8-bit weights in four dimensions");
  op = convolution();
  op.stages = {{AluStage::Op::Add, PerChannel{{1, 2}}}};
  EXPECT_EQ(refusalOf(op), "stage 0 has 2 numbers for 64 channels");
  op.stages = {{AluStage::Op::RoundShiftRight, Immediate{0}}};
  EXPECT_EQ(refusalOf(op), "stage 0 rounds by 0 bits, expected 1 to 31");
  op.stages = {{AluStage::Op::Add, FromImage{0, DType::I8}}};
  EXPECT_EQ(refusalOf(op), "stage 0 reads input 0, which the operator itself reads");
  op.stages = {{AluStage::Op::Add, FromImage{1, DType::F32}}};
  EXPECT_EQ(refusalOf(op), "stage 0 reads elements of neither 8 nor 32 bits");
  op = pooling();
  std::get<MaxPool>(op.core).windowX = 20;
  EXPECT_EQ(refusalOf(op), "a window of 2x20 is larger than the image");
}

// A window of 40 x 40 of one block of channels is more than WGT has.
TEST(VtaLegalOperators, AreRefusedWhereNoTileFits) {
  Operator op{"wide", {1, 16, 40, 40}, Convolution{}, {}};
  std::get<Convolution>(op.core).weights = randomTensor(DType::I8, {16, 16, 40, 40}, 1, -1, 1);
  EXPECT_EQ(refusalOf(op),
            "a tile of 1 x 1 blocks of channels takes 1600 elements of WGT, there are 1024");
  EXPECT_THROW(propose(op, {}), Error);
  CommandStream stream({});
  EXPECT_THROW(write(op, {}, stream, {}, 0), Error);
}

TEST(VtaLegalOperators, BuffersMustBeThoseOfTheImages) {
  Operator op = convolution();
  CommandStream stream({});
  std::array<int64_t, 4> blocks = {1, 16, 1, 1};
  size_t x = stream.allocate("x", Role::Input, DType::I8, {1, 64, 14, 14}, blockedLayout(blocks));
  size_t wrong =
      stream.allocate("y", Role::Output, DType::I8, {1, 64, 14, 13}, blockedLayout(blocks));
  size_t plain = stream.allocate("z", Role::Output, DType::I8, {1, 64, 14, 14}, plainLayout(4));
  std::array<size_t, 1> inputs = {x};
  EXPECT_THROW(write(op, propose(op, {}), stream, inputs, wrong), Error);
  EXPECT_THROW(write(op, propose(op, {}), stream, inputs, plain), Error);
  EXPECT_THROW(write(op, propose(op, {}), stream, {}, x), Error);
  EXPECT_THROW(write(op, propose(op, {}), stream, inputs, x), Error); // over what is still read
}

TEST(VtaPropose, IsTheSameEveryTime) {
  Operator op = convolutionOf({9, 40, 24, 3, 2}, 2);
  EXPECT_EQ(propose(op, {}), propose(op, {}));
}

TEST(VtaPropose, IsNoWorseThanTheBestPredicted) {
  for (const Operator &op :
       {convolutionOf({14, 32, 64, 3, 1}, 1), denseOf(8, 100, 200), pooling()}) {
    int64_t proposed = simulate(op, propose(op, {}), {}).cycles;
    for (const Schedule &other : alternatives(op, {}, 5))
      EXPECT_LE(proposed, simulate(op, other, {}).cycles) << textOf(other, op);
  }
}

} // namespace
} // namespace headrace::vta
