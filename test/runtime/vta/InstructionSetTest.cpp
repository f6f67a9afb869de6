#include "runtime/Helpers.h"
#include "runtime/vta/Programs.h"

#include <map>
#include <random>

namespace headrace::vta {
namespace {

using headrace::test::errorOf;

// As the public description of the machine has them.
TEST(VtaInstructionSet, ClassicPositions) {
  using Place = std::pair<int, int>; // last and first bit
  InstructionSet set{Configuration()};
  auto placesOf = [&](Opcode opcode) {
    std::map<std::string, Place> places;
    for (const Field &field : set.fieldsOf(opcode))
      places[std::string(field.name)] = {field.begin + field.width - 1, field.begin};
    return places;
  };
  std::map<std::string, Place> head = {{"opcode", {2, 0}},
                                       {"pop_prev", {3, 3}},
                                       {"pop_next", {4, 4}},
                                       {"push_prev", {5, 5}},
                                       {"push_next", {6, 6}}};
  std::map<std::string, Place> transfer = {{"mem_id", {9, 7}},         {"sram_base", {25, 10}},
                                           {"dram_base", {57, 26}},    {"y_size", {79, 64}},
                                           {"x_size", {95, 80}},       {"x_stride", {111, 96}},
                                           {"y_pad_top", {115, 112}},  {"y_pad_bottom", {119, 116}},
                                           {"x_pad_left", {123, 120}}, {"x_pad_right", {127, 124}}};
  std::map<std::string, Place> loops = {
      {"reset", {7, 7}},           {"uop_begin", {20, 8}},       {"uop_end", {34, 21}},
      {"iter_out", {48, 35}},      {"iter_in", {62, 49}},        {"dst_factor_out", {74, 64}},
      {"dst_factor_in", {85, 75}}, {"src_factor_out", {96, 86}}, {"src_factor_in", {107, 97}}};
  std::map<std::string, Place> gemm = {{"wgt_factor_out", {117, 108}},
                                       {"wgt_factor_in", {127, 118}}};
  std::map<std::string, Place> alu = {
      {"alu_op", {110, 108}}, {"use_imm", {111, 111}}, {"imm", {127, 112}}};
  for (auto *part : {&transfer, &loops})
    part->insert(head.begin(), head.end());
  gemm.insert(loops.begin(), loops.end());
  alu.insert(loops.begin(), loops.end());
  EXPECT_EQ(placesOf(Opcode::Load), transfer);
  EXPECT_EQ(placesOf(Opcode::Store), transfer);
  EXPECT_EQ(placesOf(Opcode::Gemm), gemm);
  EXPECT_EQ(placesOf(Opcode::Alu), alu);
  EXPECT_EQ(placesOf(Opcode::Finish), head);
  EXPECT_EQ(set.encode(MicroOp{1, 1, 1}), 1u | 1u << 11 | 1u << 22);
}

Word withFieldsOnly(const InstructionSet &set, const Word &word) {
  Word mask{};
  for (const Field &field : set.fieldsOf(static_cast<Opcode>(word[0] & 7)))
    for (int bit = field.begin; bit < field.begin + field.width; ++bit)
      mask[static_cast<size_t>(bit / 64)] |= uint64_t{1} << (bit % 64);
  return {word[0] & mask[0], word[1] & mask[1]};
}

TEST(VtaInstructionSet, EncodingWhatWasDecodedGivesTheWord) {
  for (const std::string &name : test::exampleNames()) {
    InstructionSet set(test::exampleConfiguration(name));
    std::mt19937_64 random(11);
    std::map<Opcode, int> valid;
    for (int i = 0; i < 100000; ++i) {
      Word word = {random(), random()};
      // Few random words are valid: of most, what no field has is cleared, and tokens of some.
      word[0] = (word[0] & ~uint64_t{7}) | random() % 6;
      if ((word[0] & 7) < 5 && random() % 8 != 0)
        word = withFieldsOnly(set, word);
      if (random() % 4 != 0)
        word[0] &= ~(uint64_t{15} << 3);
      if (random() % 2 != 0)
        word[0] &= ~(uint64_t{1} << 7);
      if ((word[0] & 7) == 1)
        word = {(word[0] & ~(uint64_t{7} << 7)) | uint64_t{4} << 7,
                word[1] & ((uint64_t{1} << 48) - 1)};
      InstructionSet::Decoded decoded = set.decode(word);
      ASSERT_NE(decoded.instruction.has_value(), decoded.reason.size() > 0);
      if (!decoded.instruction)
        continue;
      ++valid[decoded.instruction->op()];
      ASSERT_EQ(set.encode(*decoded.instruction), word) << set.disassemble(*decoded.instruction);
    }
    for (Opcode opcode : {Opcode::Load, Opcode::Store, Opcode::Gemm, Opcode::Alu, Opcode::Finish})
      EXPECT_GT(valid[opcode], 100) << name << " " << nameOf(opcode);
  }
}

TEST(VtaInstructionSet, EveryBitOfAMicroOpCounts) {
  for (const std::string &name : test::exampleNames()) {
    Configuration configuration = test::exampleConfiguration(name);
    InstructionSet set(configuration);
    int bits = configuration.logDepth(Memory::Acc) + configuration.logDepth(Memory::Inp) +
               configuration.logDepth(Memory::Wgt);
    for (int bit = 0; bit < bits; ++bit)
      EXPECT_EQ(set.encode(set.decode(uint32_t{1} << bit)), uint32_t{1} << bit);
  }
}

TEST(VtaInstructionSet, RefusesWordsThatMeanNothing) {
  InstructionSet set{Configuration()};
  EXPECT_EQ(set.decode({5, 0}).reason, "there is no opcode 5");
  EXPECT_EQ(set.decode({uint64_t{6} << 7, 0}).reason, "LOAD has no memory 6");
  EXPECT_EQ(set.decode({uint64_t{4} << 7, 0}).reason, "LOAD has no memory 4");
  EXPECT_EQ(set.decode({1 | uint64_t{2} << 7, 0}).reason, "STORE has no memory 2");
  EXPECT_EQ(set.decode({1 | uint64_t{4} << 7, uint64_t{1} << 48}).reason, "STORE has no padding");
  EXPECT_EQ(set.decode({4, uint64_t{5} << 44}).reason, "ALU has no operation 5");
  EXPECT_EQ(set.decode({4 | uint64_t{1} << 7, 0}).reason, "ALU has no reset");
  EXPECT_EQ(set.decode({3, 1}).reason, "FINISH has bits set that belong to no field");
  EXPECT_EQ(set.decode({2 | uint64_t{1} << 63, 0}).reason,
            "GEMM has bits set that belong to no field");
  EXPECT_EQ(set.decode({uint64_t{2} << 7 | 1 << 3, 0}).reason, "there is no module before load");
  EXPECT_EQ(set.decode({1 | uint64_t{4} << 7 | 1 << 6, 0}).reason,
            "there is no module after store");
}

TEST(VtaInstructionSet, RefusesValuesThatDoNotFit) {
  InstructionSet set{Configuration()};
  Instruction load;
  load.xSize = 65536;
  EXPECT_CONTAINS(errorOf(ErrorKind::InvalidArgument, [&] { set.encode(load); }),
                  "LOAD UOP: expected a value of x_size in 16 bits, got 65536");
  Instruction alu;
  alu.opcode = 4;
  alu.imm = -32769;
  EXPECT_CONTAINS(errorOf(ErrorKind::InvalidArgument, [&] { set.encode(alu); }),
                  "imm in 16 bits, got -32769");
  EXPECT_CONTAINS(errorOf(ErrorKind::InvalidArgument, [&] { set.encode(MicroOp{2048, 0, 0}); }),
                  "dst in 11 bits");
}

TEST(VtaInstructionSet, Disassembly) {
  InstructionSet set{Configuration()};
  Instruction alu;
  alu.opcode = 4;
  alu.aluOp = 3;
  alu.useImm = 1;
  alu.imm = -3;
  alu.uopEnd = 1;
  alu.iterOut = 2;
  alu.iterIn = 64;
  alu.dstFactorIn = 1;
  alu.popPrev = alu.pushNext = 1;
  EXPECT_EQ(set.disassemble(alu),
            "ALU SHR       uop_end=1 iter_out=2 iter_in=64 dst_factor_in=1 use_imm=1 imm=-3 "
            "; pop load->compute, push compute->store");
  Instruction finish;
  finish.opcode = 3;
  EXPECT_EQ(set.disassemble(finish), "FINISH");
}

} // namespace
} // namespace headrace::vta
