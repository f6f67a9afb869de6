#include "runtime/AllocationCount.h"
#include "runtime/Helpers.h"
#include "runtime/program/Library.h"
#include "runtime/program/Programs.h"

#include <atomic>
#include <cstring>
#include <thread>

namespace headrace {
namespace {

using namespace test;

Tensor ramp(int64_t count, float start = 0) {
  Tensor tensor = Tensor::allocate(DType::F32, {count});
  for (int64_t i = 0; i < count; ++i)
    tensor.as<float>()[i] = start + static_cast<float>(i % 100);
  return tensor;
}

void expectChain(const Tensor &x, const std::vector<Tensor> &outputs) {
  ASSERT_EQ(outputs.size(), 1u);
  ASSERT_EQ(outputs[0].shape(), x.shape());
  for (int64_t i = 0; i < x.elements(); ++i) {
    float value = x.as<float>()[i];
    ASSERT_EQ(outputs[0].as<float>()[i], (value + 1) * (value + 2));
  }
}

TEST(Run, ComputesForEverySize) {
  Executable executable = chainExecutable();
  ThreadPool pool(3);
  // More sizes than bindings are kept, each twice.
  for (int round = 0; round < 2; ++round)
    for (int64_t n : {0, 1, 2, 3, 10, 100, 1000, 5000, 20'000, 100'000}) {
      Tensor x = ramp(n);
      expectChain(x, executable.run({&x, 1}, pool));
    }
}

TEST(Run, OutputsAreFreshAndAligned) {
  Executable executable = chainExecutable();
  ThreadPool pool(2);
  Tensor x = ramp(10), other = ramp(10, 5);
  std::vector<Tensor> first = executable.run({&x, 1}, pool);
  std::vector<Tensor> second = executable.run({&other, 1}, pool);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first[0].data()) % 64, 0u);
  expectChain(x, first);
  expectChain(other, second);
}

TEST(Run, GivenOutputsLieApart) {
  Executable executable = chainExecutable();
  ThreadPool pool(2);
  std::vector<float> memory(96);
  auto at = [&](size_t start) {
    return Tensor::borrow(DType::F32, {32}, memory.data() + start, nullptr);
  };
  Tensor x = at(32);
  for (size_t start : {0, 64}) { // right before and behind the input
    std::vector<Tensor> outputs{at(start)};
    executable.runInto({&x, 1}, outputs, pool);
    expectChain(x, outputs);
  }
  for (size_t start : {1, 32, 63}) {
    std::vector<Tensor> outputs{at(start)};
    EXPECT_EQ(
        errorOf(ErrorKind::InvalidArgument, [&] { executable.runInto({&x, 1}, outputs, pool); }),
        "output 'y': expected separate memory, got memory of input 'x'");
  }
}

TEST(Run, GivenOutputsAreNotEachOther) {
  Program program = chainProgram();
  program.outputs.push_back({"z", DType::F32, program.outputs[0].dims});
  program.buffers[4].kind = BufferInfo::Kind::Output;
  program.buffers[4].index = 1;
  Executable executable(program, ProgramCode{{addOne, addOne, multiply, addOne}, {}, nullptr});
  ThreadPool pool(2);
  Tensor x = ramp(10), memory = ramp(10);
  std::vector<Tensor> outputs{memory, memory};
  EXPECT_EQ(
      errorOf(ErrorKind::InvalidArgument, [&] { executable.runInto({&x, 1}, outputs, pool); }),
      "output 'z': expected separate memory, got memory of output 'y'");
}

TEST(Run, AnyInputAlignmentWillDo) {
  Executable executable = chainExecutable();
  ThreadPool pool(2);
  Tensor x = ramp(50);
  std::vector<char> bytes(x.bytes() + 8);
  for (size_t shift : {size_t{1}, size_t{3}, size_t{4}}) {
    std::memcpy(bytes.data() + shift, x.data(), x.bytes());
    Tensor moved = Tensor::borrow(DType::F32, {50}, bytes.data() + shift, nullptr);
    expectChain(x, executable.run({&moved, 1}, pool));
  }
}

TEST(Run, EmptyInputsWithoutMemory) {
  Executable executable = chainExecutable();
  ThreadPool pool(2);
  Tensor x = Tensor::borrow(DType::F32, {0}, nullptr, nullptr);
  EXPECT_EQ(executable.run({&x, 1}, pool)[0].shape(), Shape{0});
}

TEST(Run, FromSeveralThreadsAtOnce) {
  Executable executable = chainExecutable();
  ThreadPool pool(3);
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&, user] {
      for (int round = 0; round < 30; ++round) {
        Tensor x = ramp(user % 2 == 0 ? 9000 : 50 + round, static_cast<float>(user));
        expectChain(x, executable.run({&x, 1}, pool));
      }
    });
  for (std::thread &user : users)
    user.join();
}

TEST(Run, WarmCallsAllocateOnlyTheirOutputs) {
  Executable executable = chainExecutable();
  ThreadPool pool(2);
  Tensor x = ramp(20'000);
  std::vector<double> times;
  for (int i = 0; i < 2; ++i)
    executable.run({&x, 1}, pool, &times);
  int64_t before = allocationCount();
  executable.run({&x, 1}, pool, &times);
  // The vector, and for its tensor the shape twice (a copy moved in) and the owner's count.
  EXPECT_LE(allocationCount() - before, 4);
}

TEST(Run, ReportsTheTimeOfEveryStep) {
  Executable executable = chainExecutable();
  ThreadPool pool(1);
  Tensor x = ramp(1000);
  std::vector<double> times = {1, 2, 3, 4, 5, 6, 7};
  executable.run({&x, 1}, pool, &times);
  ASSERT_EQ(times.size(), 4u);
  EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](double time) { return time >= 0; }));
}

TEST(Run, MemoryIsShared) {
  Executable executable = chainExecutable();
  int64_t symbols[] = {1024};
  MemoryPlan plan = executable.memoryPlan(symbols);
  EXPECT_EQ(plan.offsets[0], -1);
  EXPECT_EQ(plan.offsets[3], -1);
  EXPECT_EQ(plan.unsharedBytes, 3 * 4096);
  EXPECT_EQ(plan.totalBytes, 2 * 4096);
  EXPECT_EQ(executable.peakBytes(symbols), 3 * 4096);
}

// Writes the number of its call's items to every item, by way of its workspace.
int64_t throughWorkspace(void *const *buffers, const int64_t *symbols, int64_t begin, int64_t end,
                         void *workspace) {
  auto *mine = static_cast<int64_t *>(workspace);
  for (int64_t i = begin; i < end; ++i) {
    std::fill_n(mine, 125, i);
    static_cast<float *>(buffers[1])[i] = static_cast<float>(mine[i % 125]);
  }
  return symbols[0];
}

TEST(Run, WorkersHaveTheirOwnWorkspace) {
  Program program = chainProgram();
  program.steps.resize(1);
  program.steps[0].operands = {0, 3};
  program.steps[0].workspaceBytes = 1000;
  program.buffers.pop_back();
  program.buffers[1].lastStep = program.buffers[2].firstStep = program.buffers[2].lastStep = 0;
  Executable executable(program, ProgramCode{{throughWorkspace}, {}, nullptr});
  ThreadPool pool(4);
  Tensor x = ramp(30'000);
  std::vector<Tensor> outputs = executable.run({&x, 1}, pool);
  for (int64_t i = 0; i < x.elements(); ++i)
    ASSERT_EQ(outputs[0].as<float>()[i], static_cast<float>(i));
}

std::atomic<int> kernelCalls{0};

int64_t countCalls(void *const *, const int64_t *symbols, int64_t begin, int64_t end, void *) {
  kernelCalls += begin == end ? 0 : 1;
  return symbols[0];
}

TEST(Run, SmallStepsAreOneCall) {
  Program program = chainProgram();
  Executable executable(program,
                        ProgramCode{{countCalls, countCalls, countCalls, countCalls}, {}, nullptr});
  ThreadPool pool(4);
  auto callsFor = [&](int64_t n) {
    Tensor x = ramp(n);
    kernelCalls = 0;
    executable.run({&x, 1}, pool);
    return kernelCalls.load();
  };
  EXPECT_EQ(callsFor(1000), 4);
  EXPECT_EQ(callsFor(0), 0);
  EXPECT_GT(callsFor(1'000'000), 4);
}

int64_t negativeGrid(void *const *, const int64_t *, int64_t, int64_t, void *) { return -1; }

TEST(Run, BrokenKernelsAndBuffersAreInternalErrors) {
  ThreadPool pool(1);
  Tensor x = ramp(4);
  Executable negative(chainProgram(),
                      ProgramCode{{negativeGrid, addOne, multiply, addOne}, {}, nullptr});
  EXPECT_THROW(negative.run({&x, 1}, pool), InternalError);
  Program program = chainProgram();
  program.buffers[3].bytes = number(1000);
  Executable oversized(program, ProgramCode{{addOne, addOne, multiply, addOne}, {}, nullptr});
  EXPECT_THROW(oversized.run({&x, 1}, pool), InternalError);
}

// y = x w for a constant w, then copied: library steps among the others.
TEST(Run, LibraryStepsAndConstants) {
  DimExpr n = DimExpr::symbol(0);
  Program program;
  program.name = "linear";
  program.symbols = {{"n", 0, INT64_MAX}};
  program.inputs = {{"x", DType::F32, {n, number(2)}}};
  program.outputs = {{"y", DType::F32, {n, number(3)}}};
  // The constant starts at an odd address, as weights in a file may.
  auto bytes = std::make_shared<std::vector<char>>(25);
  float weights[] = {1, 2, 3, 4, 5, 6};
  std::memcpy(bytes->data() + 1, weights, 24);
  program.constants = {Tensor::borrow(DType::F32, {2, 3}, bytes->data() + 1, bytes)};
  program.buffers = {buffer(BufferInfo::Kind::Input, 0, n * number(8)),
                     buffer(BufferInfo::Kind::Constant, 0, number(24)),
                     buffer(BufferInfo::Kind::Temporary, 0, n * number(12), 0, 1),
                     buffer(BufferInfo::Kind::Output, 0, n * number(12))};
  Step gemm;
  gemm.kind = Step::Kind::Library;
  gemm.name = "matmul";
  gemm.symbol = "openblas.sgemm";
  gemm.operands = {0, 1, 2};
  gemm.parameters = {number(1), n,         number(3), number(2), number(0), number(0),
                     number(0), number(0), number(0), number(2), number(3), number(3)};
  Step copy;
  copy.kind = Step::Kind::Library;
  copy.name = "copy";
  copy.symbol = "copy";
  copy.operands = {2, 3};
  copy.parameters = {n * number(12)};
  program.steps = {gemm, copy};
  if (!libraryAvailable("openblas"))
    GTEST_SKIP() << "OpenBLAS is not on this machine";
  Executable executable(program, ProgramCode{{nullptr, nullptr}, {}, nullptr});
  ThreadPool pool(2);
  Tensor x = floats({2, 2}, {1, 0, 1, 1});
  EXPECT_EQ(valuesOf<float>(executable.run({&x, 1}, pool)[0]),
            (std::vector<float>{1, 2, 3, 5, 7, 9}));
  Tensor empty = floats({0, 2}, {});
  EXPECT_EQ(executable.run({&empty, 1}, pool)[0].shape(), (Shape{0, 3}));
}

} // namespace
} // namespace headrace
