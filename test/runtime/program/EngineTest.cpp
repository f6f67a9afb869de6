// Programs with steps of several engines. The other engine here has memory that the process cannot
// reach by its addresses, so that a copy that is missing shows.
#include "runtime/program/Engine.h"

#include "runtime/Helpers.h"
#include "runtime/program/Programs.h"
#include "runtime/system/AlignedMemory.h"
#include "runtime/system/Error.h"

#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

namespace headrace::test {

namespace {

constexpr uintptr_t offset = uintptr_t{1} << 62;

template <class T> T *moved(T *pointer, uintptr_t by) {
  return reinterpret_cast<T *>(reinterpret_cast<uintptr_t>(pointer) + by);
}

struct Counts {
  std::atomic<int> in{0}, out{0}, steps{0}, sessions{0};
};
Counts counts;

/// Computes x + 1, from its first operand to its last.
class FarSession final : public EngineSession {
public:
  explicit FarSession(const Program &program) : program(program) { ++counts.sessions; }
  std::shared_ptr<void> allocate(int64_t bytes, const char *what) override {
    std::shared_ptr<std::byte> memory = allocateAligned(static_cast<size_t>(bytes), what);
    return {memory, moved(memory.get(), offset)};
  }
  void copyIn(void *to, const void *from, int64_t bytes) override {
    ++counts.in;
    std::memcpy(moved(to, -offset), from, static_cast<size_t>(bytes));
  }
  void copyOut(void *to, const void *from, int64_t bytes) override {
    ++counts.out;
    std::memcpy(to, moved(from, -offset), static_cast<size_t>(bytes));
  }
  void run(size_t index, const EngineCall &call) override {
    ++counts.steps;
    const Step &step = program.steps[index];
    std::vector<void *> operands;
    for (int id : step.operands)
      operands.push_back(moved(call.buffers[static_cast<size_t>(id)], -offset));
    addOne(std::vector{operands.front(), operands.back()}.data(), call.binding.symbols.data(), 0,
           call.binding.symbols[0], nullptr);
  }
  void finish(const EngineCall &call) override {
    if (call.binding.symbols[0] == 13)
      throw Error(ErrorKind::InvalidArgument, "thirteen elements are too many");
  }

private:
  const Program &program;
};

class FarProgram final : public EngineProgram {
public:
  explicit FarProgram(const Program &program) : program(program) {}
  std::unique_ptr<EngineSession> begin() const override {
    return std::make_unique<FarSession>(program);
  }

private:
  const Program &program;
};

class FarEngine final : public Engine {
public:
  std::string_view name() const override { return "far"; }
  std::string unsupportedReason(const ProcessorNeeds &needs) const override {
    return needs.level == "2" ? "it is of level 1" : "";
  }
  std::unique_ptr<const EngineProgram> load(const Program &program,
                                            const ProgramCode &) const override {
    return std::make_unique<FarProgram>(program);
  }
};

class EngineTest : public testing::Test {
protected:
  EngineTest() {
    static const FarEngine far;
    addEngine(far);
    counts.in = counts.out = counts.steps = counts.sessions = 0;
  }
};

Step transfer(std::string name, int from, int to, const DimExpr &bytes) {
  Step step;
  step.kind = Step::Kind::Transfer;
  step.engine = "far";
  step.name = std::move(name);
  step.symbol = "copy";
  step.operands = {from, to};
  step.parameters = {bytes};
  return step;
}

BufferInfo far(BufferInfo info) {
  info.engine = "far";
  return info;
}

/// y = (x + 1) * (x + 2): a = x + 1 here, b = a + 1 there, y = a * b here.
Program farChain() {
  DimExpr n = DimExpr::symbol(0), bytes = n * number(4);
  using Kind = BufferInfo::Kind;
  Program program;
  program.name = "chain";
  program.symbols = {{"n", 0, INT64_MAX}};
  program.inputs = {{"x", DType::F32, {n}}};
  program.outputs = {{"y", DType::F32, {n}}};
  program.buffers = {buffer(Kind::Input, 0, bytes),
                     buffer(Kind::Temporary, 0, bytes, 0, 4),      // a
                     far(buffer(Kind::Temporary, 0, bytes, 1, 2)), // a there
                     far(buffer(Kind::Temporary, 0, bytes, 2, 3)), // b there
                     buffer(Kind::Temporary, 0, bytes, 3, 4),      // b
                     buffer(Kind::Output, 0, bytes)};
  Step b = kernelStep("b", {2, 3}, n);
  b.engine = "far";
  program.steps = {kernelStep("a", {0, 1}, n), transfer("a to far", 1, 2, bytes), b,
                   transfer("b to cpu", 3, 4, bytes), kernelStep("y", {1, 4, 5}, n)};
  return program;
}

Executable farExecutable(Program program = farChain()) {
  return Executable(std::move(program),
                    ProgramCode{{addOne, nullptr, nullptr, nullptr, multiply}, {}, nullptr});
}

void expectChain(const Tensor &y, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    ASSERT_EQ(y.as<float>()[i], static_cast<float>((i + 1) * (i + 2))) << i;
}

Tensor counting(int64_t n) {
  Tensor tensor = Tensor::allocate(DType::F32, {n});
  for (int64_t i = 0; i < n; ++i)
    tensor.as<float>()[i] = static_cast<float>(i);
  return tensor;
}

TEST_F(EngineTest, StepsRunWhereTheyAreAndValuesAreCopied) {
  Executable executable = farExecutable();
  for (int64_t n : {8, 3, 100000, 8})
    expectChain(executable.run(std::vector{counting(n)})[0], n);
  EXPECT_EQ(counts.steps, 4);
  EXPECT_EQ(counts.in, 4);
  EXPECT_EQ(counts.out, 4);
}

TEST_F(EngineTest, NothingIsCopiedOfEmptyValues) {
  EXPECT_EQ(farExecutable().run(std::vector{counting(0)})[0].elements(), 0);
  EXPECT_EQ(counts.in + counts.out, 0);
}

TEST_F(EngineTest, EveryThreadHasASessionOfItsOwn) {
  Executable executable = farExecutable();
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i)
        expectChain(executable.run(std::vector{counting(1000 + t)})[0], 1000 + t);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_LE(counts.sessions, 1 + 4); // one for constants
}

TEST_F(EngineTest, ConstantsAreMovedOnceAndReleasedHere) {
  DimExpr n = DimExpr::symbol(0);
  Program program = farChain();
  program.constants = {counting(6)};
  program.buffers.push_back(far(buffer(BufferInfo::Kind::Constant, 0, number(24))));
  program.steps[2].operands = {2, 6, 3};
  Executable executable = farExecutable(program);
  EXPECT_EQ(counts.in, 1);
  EXPECT_EQ(executable.program().constants[0].data(), nullptr);
  expectChain(executable.run(std::vector{counting(6)})[0], 6);
  EXPECT_EQ(counts.in, 2);
}

TEST_F(EngineTest, AnErrorOfAnEngineIsTheCalls) {
  Executable executable = farExecutable();
  EXPECT_EQ(errorOf(ErrorKind::InvalidArgument, [&] { executable.run(std::vector{counting(13)}); }),
            "thirteen elements are too many");
  expectChain(executable.run(std::vector{counting(12)})[0], 12);
}

TEST_F(EngineTest, EveryEngineHasAnArenaOfItsOwn) {
  MemoryPlan plan = farExecutable().memoryPlan(std::vector<int64_t>{16});
  EXPECT_EQ(plan.arenaBytes(hostEngine), 128);
  EXPECT_EQ(plan.arenaBytes("far"), 128);
  EXPECT_EQ(plan.arenaBytes("nowhere"), 0);
  EXPECT_EQ(plan.totalBytes, 256);
}

TEST_F(EngineTest, AnUnknownEngineIsNamed) {
  Program program = farChain();
  for (Step &step : program.steps)
    if (step.engine == "far")
      step.engine = "nearby";
  for (BufferInfo &each : program.buffers)
    if (each.engine == "far")
      each.engine = "nearby";
  EXPECT_EQ(errorOf(ErrorKind::Unsupported, [&] { farExecutable(program); }),
            "unknown engine 'nearby'; expected cpu, cuda, vta, coarse or far");
}

TEST_F(EngineTest, CodeOfAnotherEngineSaysWhyNot) {
  EXPECT_TRUE(runsHere({"far", "1", {}}));
  EXPECT_FALSE(runsHere({"far", "2", {}}));
  EXPECT_FALSE(runsHere({"nearby", "1", {}}));
  EXPECT_EQ(engineOf({std::string(hostArchitecture()), "x86-64-v2", {}}), hostEngine);
}

TEST_F(EngineTest, UnsoundPlacesAreRefused) {
  EXPECT_EQ(programFault(farChain()), "");
  Program program = farChain();
  program.steps[2].engine = hostEngine;
  EXPECT_EQ(programFault(program),
            "step 'b' runs on 'cpu' and uses buffer 2, which is stored on 'far'");
  program = farChain();
  program.steps[1].operands = {2, 2};
  EXPECT_EQ(programFault(program), "step 'a to far' is a transfer of 'far' from 'far' to 'far'");
  program = farChain();
  program.steps[1].parameters.clear();
  EXPECT_EQ(programFault(program), "step 'a to far' is not a transfer from one buffer to another");
  program = farChain();
  program.steps[1].parameters = {DimExpr::symbol(0) * number(8)};
  program.origin = "a.hrpkg";
  Executable executable = farExecutable(program);
  EXPECT_EQ(
      errorOf(ErrorKind::InvalidFile, [&] { executable.run(std::vector{counting(4)}); }),
      "a.hrpkg: the package is damaged: program 'chain': step 'a to far' copies 32 bytes of a "
      "buffer of 16");
  program = farChain();
  program.buffers[5].engine = program.steps[4].engine = "far";
  program.buffers[1].engine = program.buffers[4].engine = "far";
  EXPECT_NE(programFault(program), "");
}

} // namespace

} // namespace headrace::test
