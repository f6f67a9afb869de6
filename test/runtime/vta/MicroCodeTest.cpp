#include "runtime/vta/MicroCode.h"

#include "runtime/vta/MicroOpBuffer.h"

#include <gtest/gtest.h>
#include <random>

namespace headrace::vta {
namespace {

std::vector<MicroOp> unrolled(std::span<const Sweep> sweeps) {
  std::vector<MicroOp> ops;
  for (const Sweep &sweep : sweeps)
    for (uint32_t i = 0; i < sweep.iterOut; ++i)
      for (uint32_t j = 0; j < sweep.iterIn; ++j)
        for (const MicroOp &op : sweep.body)
          ops.push_back({op.dst + i * sweep.factorOut.dst + j * sweep.factorIn.dst,
                         op.src + i * sweep.factorOut.src + j * sweep.factorIn.src,
                         op.wgt + i * sweep.factorOut.wgt + j * sweep.factorIn.wgt});
  return ops;
}

TEST(VtaMicroCode, FindsTwoLoops) {
  MicroCode code;
  for (int y = 0; y < 6; ++y)
    for (int x = 0; x < 5; ++x)
      for (int k = 0; k < 9; ++k)
        code.add(y * 5 + x, (y + k / 3) * 7 + x + k % 3, k);
  std::vector<Sweep> sweeps = compress(code.ops, {8192, 16383});
  ASSERT_EQ(sweeps.size(), 1u);
  EXPECT_EQ(sweeps[0].iterOut, 6);
  EXPECT_EQ(sweeps[0].iterIn, 5);
  EXPECT_EQ(sweeps[0].body.size(), 9u);
  EXPECT_EQ(sweeps[0].factorOut, (MicroOp{5, 7, 0}));
  EXPECT_EQ(sweeps[0].factorIn, (MicroOp{1, 1, 0}));
  EXPECT_EQ(unrolled(sweeps), code.ops);
}

TEST(VtaMicroCode, LoopsEndWhereTheirFieldDoes) {
  MicroCode code;
  for (int i = 0; i < 2048; ++i)
    code.add(i);
  std::vector<Sweep> sweeps = compress(code.ops, {8192, 1023});
  ASSERT_EQ(sweeps.size(), 1u);
  EXPECT_EQ(sweeps[0].body.size(), 1u);
  EXPECT_EQ(sweeps[0].iterIn, 512);
  EXPECT_EQ(sweeps[0].iterOut, 4);
  EXPECT_EQ(unrolled(sweeps), code.ops);
}

TEST(VtaMicroCode, StepsBackAreNoLoop) {
  MicroCode code;
  for (int i = 0; i < 4; ++i)
    code.add(3 - i);
  std::vector<Sweep> sweeps = compress(code.ops, {8192, 16383});
  ASSERT_EQ(sweeps.size(), 1u);
  EXPECT_EQ(sweeps[0].body.size(), 4u);
}

TEST(VtaMicroCode, AnythingComesBack) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
    MicroCode code;
    int64_t outer = 1 + below(5), inner = 1 + below(5), body = 1 + below(4), limit = 1 + below(12);
    int64_t factors[6] = {below(9), below(9), below(9), below(9), below(9), below(9)};
    std::vector<MicroOp> start;
    for (int64_t b = 0; b < body; ++b)
      start.push_back({static_cast<uint32_t>(below(9)), static_cast<uint32_t>(below(9)),
                       static_cast<uint32_t>(below(9))});
    for (int64_t i = 0; i < outer; ++i)
      for (int64_t j = 0; j < inner; ++j)
        for (const MicroOp &op : start)
          code.add(op.dst + i * factors[0] + j * factors[1],
                   op.src + i * factors[2] + j * factors[3],
                   op.wgt + i * factors[4] + j * factors[5]);
    if (round % 3 == 0)
      code.add(below(9), below(9), below(9));
    std::vector<Sweep> found = compress(code.ops, {static_cast<size_t>(limit), 16383});
    std::vector<Sweep> flat = chop(code.ops, {static_cast<size_t>(limit), 16383});
    EXPECT_EQ(unrolled(found), code.ops);
    EXPECT_EQ(unrolled(flat), code.ops);
    for (const Sweep &sweep : found)
      EXPECT_LE(sweep.body.size(), static_cast<size_t>(limit));
    if (round % 3 != 0 && body <= limit) {
      ASSERT_EQ(found.size(), 1u);
      EXPECT_LE(found[0].body.size(), static_cast<size_t>(body));
    }
  }
}

TEST(VtaMicroOpBuffer, LoadsOnlyWhatIsNotThere) {
  MicroOpBuffer buffer(8);
  std::vector<uint32_t> a = {1, 2, 3}, b = {4, 5, 6, 7}, c = {8, 9};
  EXPECT_EQ(buffer.place(a).dram, 0u);
  EXPECT_EQ(buffer.place(b).dram, 3u);
  EXPECT_FALSE(buffer.place(a).dram);
  MicroOpBuffer::Place third = buffer.place(c); // over the beginning, where `a` is
  EXPECT_EQ(third.sram, 0u);
  EXPECT_EQ(third.dram, 7u);
  EXPECT_FALSE(buffer.place(b).dram);
  MicroOpBuffer::Place again = buffer.place(a); // over the rest of its old place and `b`
  EXPECT_EQ(again.sram, 2u);
  EXPECT_EQ(again.dram, 0u);
  EXPECT_TRUE(buffer.place(b).dram);
  EXPECT_EQ(buffer.all().size(), 9u);
  buffer.forget();
  EXPECT_EQ(buffer.place(c).dram, 7u);
}

} // namespace
} // namespace headrace::vta
