// Words and programs that nobody wrote on purpose: each ends, in a result or in a named fault.
#include "runtime/Helpers.h"
#include "runtime/vta/Programs.h"
#include "runtime/vta/Simulator.h"

#include <cstdlib>
#include <map>
#include <random>

namespace headrace::vta {
namespace {

using namespace test;

constexpr int64_t limit = 200'000;

int roundsOf(int few, int all) { return std::getenv("HEADRACE_LARGE_TESTS") ? all : few; }

/// The fault, the same in two orders of modules; empty for none.
std::string faultOf(const Program &program, uint64_t seed) {
  CycleConstants constants;
  constants.limit = limit;
  Simulation one = simulate(program, {seed, constants}),
             other = simulate(program, {seed + 1, constants});
  EXPECT_EQ(one.fault ? one.fault->what() : "",
            std::string(other.fault ? other.fault->what() : ""));
  if (!one.fault) {
    EXPECT_EQ(one.dram, other.dram);
    EXPECT_LE(one.cycles, limit);
    return "";
  }
  return std::string(nameOf(one.fault->kind()));
}

TEST(VtaMutations, RandomWords) {
  std::map<std::string, int> seen;
  Configuration configuration;
  InstructionSet set(configuration);
  Program program = denseProgram(configuration, {4, 32, 32}).program;
  std::mt19937_64 random(1);
  int words = roundsOf(4000, 100'000);
  for (int i = 0; i < words; ++i) {
    Word word = {random(), random()};
    InstructionSet::Decoded decoded = set.decode(word);
    if (decoded.instruction)
      set.disassemble(*decoded.instruction);
    // Half of them with what no field has cleared, so that they reach the modules.
    if (i % 2)
      word[0] = (word[0] & ((uint64_t{1} << 58) - 1) & ~uint64_t{127}) | random() % 5;
    Program changed = program;
    changed.instructions = {word, program.instructions.back()};
    changed.instructions[1][0] &= 7; // FINISH without tokens
    changed.steps = {{false, 0, 2, ""}};
    ++seen[faultOf(changed, random())];
  }
  for (const char *kind : {"illegal instruction", "out of bounds", "cycle limit"})
    EXPECT_GT(seen[kind], 0) << kind;
}

TEST(VtaMutations, ChangedPrograms) {
  std::map<std::string, int> seen;
  std::vector<Program> programs;
  for (const std::string &name : exampleNames()) {
    Configuration configuration = exampleConfiguration(name);
    programs.push_back(denseProgram(configuration, {8, 64, 128, 2}).program);
    programs.push_back(
        convolutionProgram(configuration, {7, 64, 64, 3, 1, 2, 1, true, true, true}).program);
    programs.push_back(poolProgram(configuration, 64, 9).program);
  }
  std::mt19937_64 random(2);
  int rounds = roundsOf(1000, 10'000);
  for (int i = 0; i < rounds; ++i) {
    Program program = programs[random() % programs.size()];
    auto anywhere = [&] { return random() % program.instructions.size(); };
    for (uint64_t n = 1 + random() % 3; n > 0; --n)
      switch (random() % 6) {
      case 0: // a token flag
        program.instructions[anywhere()][0] ^= uint64_t{8} << random() % 4;
        break;
      case 1: // any bit
        program.instructions[anywhere()][random() % 2] ^= uint64_t{1} << random() % 64;
        break;
      case 2:
        std::swap(program.instructions[anywhere()], program.instructions[anywhere()]);
        break;
      case 3:
        program.instructions[anywhere()] = program.instructions[anywhere()];
        break;
      case 4: { // a micro-op, where the accelerator reads it
        size_t at = program.microOpOffset + random() % (program.microOps.size() * 4);
        program.dram[at] ^= static_cast<std::byte>(1 << random() % 8);
        break;
      }
      default:
        program.instructions.erase(program.instructions.begin() +
                                   static_cast<ptrdiff_t>(anywhere()));
        program.steps[0].end = program.instructions.size();
        break;
      }
    ++seen[faultOf(program, random())];
  }
  for (const auto &[kind, count] : seen)
    RecordProperty(kind.empty() ? "none" : kind, count);
  for (FaultKind kind : {FaultKind::IllegalInstruction, FaultKind::Finish, FaultKind::OutOfBounds,
                         FaultKind::ReadBeforeWrite, FaultKind::Race, FaultKind::Deadlock,
                         FaultKind::LeftoverTokens})
    EXPECT_GT(seen[std::string(nameOf(kind))], 0) << nameOf(kind);
}

} // namespace
} // namespace headrace::vta
