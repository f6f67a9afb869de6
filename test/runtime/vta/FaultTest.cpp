// Each fault is told with the instruction that has it, and in every order of modules.
#include "runtime/Helpers.h"
#include "runtime/vta/Programs.h"
#include "runtime/vta/Simulator.h"

namespace headrace::vta {
namespace {

using namespace test;

// The fault, the same whatever the order of modules is.
std::string faultOf(const Program &program, const CycleConstants &constants = {}) {
  std::string first;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Simulation simulation = simulate(program, {seed, constants});
    std::string found = simulation.fault ? simulation.fault->what() : "none";
    if (seed == 0)
      first = found;
    EXPECT_EQ(found, first);
  }
  return first;
}

/// A small product, whose instructions tests change.
class VtaFaults : public testing::Test {
protected:
  VtaFaults() {
    std::array<int64_t, 2> row = {1, 16}, square = {16, 16};
    a = stream.allocate("a", Role::Input, DType::I8, {4, 16}, blockedLayout(row));
    w = stream.allocate("w", Role::Weight, DType::I8, {16, 16}, blockedLayout(square));
    y = stream.allocate("y", Role::Output, DType::I8, {4, 16}, blockedLayout(row));
  }

  void load() {
    stream.load(Memory::Inp, 0, {a, 0, 4});
    stream.load(Memory::Wgt, 0, {w});
  }
  void multiply(int64_t dst = 0, int64_t src = 0, int64_t wgt = 0) {
    MicroCode clear = MicroCode::reset(), code = MicroCode::gemm();
    for (int64_t i = 0; i < 4; ++i) {
      clear.add(dst + i);
      code.add(dst + i, src + i, wgt);
    }
    stream.run(clear);
    stream.run(code);
  }
  void store() { stream.store({y, 0, 4}, 0); }
  void order(Module from, Module to) {
    stream.push(from, to);
    stream.pop(from, to);
  }
  Program right() {
    load();
    order(Module::Load, Module::Compute);
    multiply();
    order(Module::Compute, Module::Store);
    store();
    return stream.finish();
  }
  static void change(Program &program, size_t index, int64_t Instruction::*member, int64_t value) {
    InstructionSet set(program.configuration);
    Instruction instruction = *set.decode(program.instructions[index]).instruction;
    instruction.*member = value;
    program.instructions[index] = set.encode(instruction);
  }

  CommandStream stream{Configuration()};
  size_t a, w, y;
};

// 0 LOAD INP, 1 LOAD WGT, 2 LOAD UOP, 3 GEMM reset, 4 GEMM, 5 STORE, 6 FINISH
TEST_F(VtaFaults, NoneInWhatIsRight) { EXPECT_EQ(faultOf(right()), "none"); }

TEST_F(VtaFaults, Deadlock) {
  Program program = right();
  change(program, 1, &Instruction::pushNext, 0);
  EXPECT_EQ(faultOf(program), "deadlock: compute waits at instruction 3 (GEMM) for a token of "
                              "load->compute; store waits at "
                              "instruction 5 (STORE OUT) for a token of compute->store");
}

TEST_F(VtaFaults, LeftoverTokens) {
  Program program = right();
  change(program, 4, &Instruction::pushPrev, 1);
  EXPECT_EQ(faultOf(program),
            "leftover tokens: 1 in compute->load, the first pushed by instruction 4 (GEMM)");
}

TEST_F(VtaFaults, LeftoverTokensDoNotReachTheNextRun) {
  right();
  stream = CommandStream{Configuration()};
  std::array<int64_t, 2> row = {1, 16};
  size_t x = stream.allocate("x", Role::Input, DType::I8, {1, 16}, blockedLayout(row));
  stream.load(Memory::Inp, 0, {x});
  stream.push(Module::Load, Module::Compute);
  stream.endRun();
  stream.pop(Module::Load, Module::Compute);
  EXPECT_CONTAINS(faultOf(stream.finish()), "leftover tokens: 1 in load->compute");
}

TEST_F(VtaFaults, ReadBeforeWriteOnTheChip) {
  stream.load(Memory::Inp, 0, {a, 0, 4});
  order(Module::Load, Module::Compute);
  multiply();
  EXPECT_EQ(faultOf(stream.finish()), "read before write: instruction 3 (GEMM) reads WGT[0]");
}

TEST_F(VtaFaults, AccumulatorsAreClearedFirst) {
  Program program = right();
  change(program, 3, &Instruction::iterIn, 3);
  EXPECT_EQ(faultOf(program), "read before write: instruction 4 (GEMM) adds to ACC[3]");
}

TEST_F(VtaFaults, MicroOpsAreLoadedFirst) {
  Program program = right();
  change(program, 2, &Instruction::sramBase, 8);
  EXPECT_EQ(faultOf(program), "read before write: instruction 3 (GEMM) reads UOP[0]");
}

TEST_F(VtaFaults, ReadBeforeWriteInDram) {
  stream.load(Memory::Inp, 0, {y, 0, 4});
  EXPECT_CONTAINS(faultOf(stream.finish()), "read before write: instruction 0 (LOAD INP) reads "
                                            "byte 512 of DRAM, a result not yet stored");
}

TEST_F(VtaFaults, OutOfBoundsOnTheChip) {
  Program program = right();
  Program big = program;
  change(big, 0, &Instruction::sramBase, 2046);
  EXPECT_EQ(
      faultOf(big),
      "out of bounds: instruction 0 (LOAD INP) uses INP[2046..2050), which has 2048 elements");
  big = program;
  change(big, 0, &Instruction::yPadBottom, 15);
  change(big, 0, &Instruction::sramBase, 2000);
  EXPECT_EQ(
      faultOf(big),
      "out of bounds: instruction 0 (LOAD INP) uses INP[2000..2064), which has 2048 elements");
  big = program;
  change(big, 4, &Instruction::srcFactorIn, 2000);
  EXPECT_EQ(faultOf(big),
            "out of bounds: instruction 4 (GEMM) uses INP[6000..6001), which has 2048 elements");
  big = program;
  change(big, 4, &Instruction::uopEnd, 8193);
  EXPECT_CONTAINS(faultOf(big), "out of bounds: instruction 4 (GEMM) uses UOP[");
  big = program;
  change(big, 5, &Instruction::sramBase, 2047);
  EXPECT_CONTAINS(faultOf(big), "out of bounds: instruction 5 (STORE OUT) uses OUT[2047..2051)");
}

TEST_F(VtaFaults, OutOfBoundsInDram) {
  Program program = right();
  Program big = program;
  change(big, 0, &Instruction::xSize, 5);
  EXPECT_EQ(faultOf(big), "out of bounds: instruction 0 (LOAD INP) uses bytes 0 to 80 of DRAM, "
                          "beyond the end of 'a' at 64");
  big = program;
  change(big, 5, &Instruction::dramBase, 0xffffffff);
  EXPECT_CONTAINS(faultOf(big), "out of bounds: instruction 5 (STORE OUT) uses bytes 68719476720 "
                                "to 68719476784 of DRAM outside of every buffer");
}

TEST_F(VtaFaults, StoresOnlyIntoResults) {
  Program program = right();
  change(program, 5, &Instruction::dramBase, 0);
  EXPECT_EQ(faultOf(program), "write protected: instruction 5 (STORE OUT) stores into 'a'");
}

TEST_F(VtaFaults, Race) {
  load();
  order(Module::Load, Module::Compute);
  multiply();
  stream.load(Memory::Inp, 0, {a, 0, 4}); // over what the product reads
  order(Module::Compute, Module::Store);
  store();
  EXPECT_EQ(faultOf(stream.finish()), "race: instruction 4 (GEMM) and instruction 5 (LOAD INP) "
                                      "both use INP[0], and no token orders them");
}

TEST_F(VtaFaults, RaceInDram) {
  load();
  order(Module::Load, Module::Compute);
  multiply();
  order(Module::Compute, Module::Store);
  store();
  order(Module::Store, Module::Compute);
  stream.load(Memory::Acc8, 0, {y, 0, 4}); // in order
  order(Module::Compute, Module::Load);
  stream.load(Memory::Inp, 0, {y, 0, 4}); // in order, too
  order(Module::Load, Module::Compute);
  stream.store({y, 0, 4}, 0); // not after the load
  EXPECT_CONTAINS(faultOf(stream.finish()), "race: instruction ");
}

TEST_F(VtaFaults, FinishWaitsForStores) {
  Program program = right();
  change(program, 5, &Instruction::pushPrev, 0);
  change(program, 6, &Instruction::popNext, 0);
  EXPECT_EQ(faultOf(program),
            "finish: instruction 6 (FINISH) does not wait for instruction 5 (STORE OUT)");
}

TEST_F(VtaFaults, FinishIsLast) {
  Program program = right();
  Program cut = program;
  cut.steps[0].end = 6;
  EXPECT_EQ(faultOf(cut), "finish: instruction 5 (STORE OUT) is the last, expected FINISH");
  program.instructions.push_back(program.instructions[0]);
  program.steps[0].end = 8;
  EXPECT_EQ(faultOf(program),
            "finish: instruction 7 (LOAD INP) comes after instruction 6 (FINISH)");
}

TEST_F(VtaFaults, IllegalInstruction) {
  Program program = right();
  program.instructions[4][0] |= 7;
  EXPECT_EQ(faultOf(program), "illegal instruction: instruction 4: there is no opcode 7");
}

TEST_F(VtaFaults, CycleLimit) {
  Program program = right();
  change(program, 4, &Instruction::iterOut, 16383);
  CycleConstants constants;
  constants.limit = 1000;
  EXPECT_CONTAINS(faultOf(program, constants),
                  "cycle limit: instruction 4 (GEMM) would end in cycle ");
}

TEST_F(VtaFaults, EarlierOnesAreTold) {
  Program program = right();
  change(program, 0, &Instruction::xSize, 5);    // out of bounds at the start
  change(program, 1, &Instruction::pushNext, 0); // and nobody ever goes on
  EXPECT_CONTAINS(faultOf(program), "out of bounds: instruction 0");
}

TEST_F(VtaFaults, StepsOfTheHostAreNamed) {
  stream.hostStep("softmax");
  Program program = right();
  EXPECT_CONTAINS(headrace::test::errorOf(ErrorKind::Unsupported, [&] { simulate(program); }),
                  "'softmax'");
}

} // namespace
} // namespace headrace::vta
