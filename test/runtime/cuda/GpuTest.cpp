// The runtime on a real device; skipped in one line if there is none.
#include "runtime/cuda/CuBlas.h"
#include "runtime/cuda/CudaTest.h"
#include "runtime/system/Error.h"

#include <chrono>
#include <cstdio>

namespace headrace::test {

namespace {

// add_one and multiply as in the driver without a device: one block an element.
const DeviceImage ptx = {"image", R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry add_one(.param .u64 x, .param .u64 y, .param .u64 n) {
  .reg .b32 %r<2>; .reg .b64 %d<6>; .reg .f32 %f<3>;
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %d1, %r1, 4;
  ld.param.u64 %d2, [x];
  ld.param.u64 %d3, [y];
  add.s64 %d4, %d2, %d1;
  add.s64 %d5, %d3, %d1;
  ld.global.f32 %f1, [%d4];
  add.f32 %f2, %f1, 0f3F800000;
  st.global.f32 [%d5], %f2;
  ret;
}
.visible .entry multiply(.param .u64 a, .param .u64 b, .param .u64 y, .param .u64 n) {
  .reg .b32 %r<2>; .reg .b64 %d<8>; .reg .f32 %f<4>;
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %d1, %r1, 4;
  ld.param.u64 %d2, [a];
  ld.param.u64 %d3, [b];
  ld.param.u64 %d4, [y];
  add.s64 %d5, %d2, %d1;
  add.s64 %d6, %d3, %d1;
  add.s64 %d7, %d4, %d1;
  ld.global.f32 %f1, [%d5];
  ld.global.f32 %f2, [%d6];
  mul.f32 %f3, %f1, %f2;
  st.global.f32 [%d7], %f3;
  ret;
}
)"};

class GpuTest : public ::testing::Test {
protected:
  void SetUp() override {
    try {
      device = &cuda::Device::get(0);
    } catch (const Error &error) {
      GTEST_SKIP() << error.what();
    }
  }
  Tensor there(const Tensor &tensor) const { return cuda::toDevice(*device, tensor); }

  cuda::Device *device = nullptr;
};

Executable chain() { return deviceExecutable(deviceChain(), {ptx}); }

TEST_F(GpuTest, RunsFromMainMemory) {
  Executable executable = chain();
  for (int64_t n : {1, 5, 1000, 1000, 1000, 100'000, 5})
    expectChain(executable.run(std::vector{counting(n)})[0], n);
}

TEST_F(GpuTest, ChecksFindTheFirstElement) {
  Executable executable = deviceExecutable(checkedChain(), {ptx});
  for (int64_t n : {1, 5, 1000, 1000, 1000, 3'000'000}) {
    auto text = [&](int64_t value, int64_t position) {
      return "node 'embed' (Gather): index " + std::to_string(value) + " at [" +
             std::to_string(position) + "] is outside [-" + std::to_string(n) + ", " +
             std::to_string(n) + ")";
    };
    expectChain(executable.run(std::vector{counting(n), indicesWith(n)})[0], n);
    for (int64_t position : {int64_t{0}, n / 2, n - 1}) {
      Tensor indices = indicesWith(n, position, -n - 1);
      for (int64_t i = position + 1; i < n; i += 3)
        indices.as<int64_t>()[i] = n + i;
      try {
        executable.run(std::vector{counting(n), indices});
        ADD_FAILURE() << "no error";
      } catch (const Error &error) {
        EXPECT_EQ(error.what(), text(-n - 1, position));
      }
    }
    // In a stream, the next call says it.
    std::vector<Tensor> outputs(1), inputs{there(counting(n)), there(indicesWith(n, n / 2, n))};
    executable.enqueue(inputs, outputs, nullptr);
    cuda::waitFor(nullptr);
    try {
      executable.run(std::vector{counting(n), indicesWith(n)});
      ADD_FAILURE() << "no error";
    } catch (const Error &error) {
      EXPECT_EQ(error.what(), text(n, n / 2));
    }
    expectChain(executable.run(std::vector{counting(n), indicesWith(n)})[0], n);
  }
}

TEST_F(GpuTest, GraphsFollowTensorsThatMove) {
  Executable executable = chain();
  std::vector<Tensor> kept;
  for (int i = 0; i < 5; ++i) {
    kept.push_back(there(counting(1000)));
    kept.push_back(executable.run(std::vector{kept.back()})[0]);
    EXPECT_EQ(kept.back().place().device, 0);
    expectChain(cuda::toHost(kept.back(), nullptr), 1000);
  }
}

TEST_F(GpuTest, EnqueuesInTheDefaultStream) {
  Executable executable = chain();
  Tensor x = there(counting(1000));
  for (int i = 0; i < 5; ++i) {
    std::vector<Tensor> outputs(1);
    executable.enqueue(std::vector{x}, outputs, nullptr);
    expectChain(cuda::toHost(outputs[0], nullptr), 1000);
  }
}

TEST_F(GpuTest, TimesStepsAndTellsRegisters) {
  Executable executable = chain();
  std::vector<double> times;
  executable.run(std::vector{counting(1000)}, ThreadPool::global(), &times);
  ASSERT_EQ(times.size(), 4u);
  for (double microseconds : times) {
    EXPECT_GT(microseconds, 0);
    EXPECT_LT(microseconds, 10'000);
  }
  EXPECT_NE(executable.stepNotes()[0].find("registers"), std::string::npos);
}

TEST_F(GpuTest, OutOfMemoryLeavesTheProcessUsable) {
  Program program = deviceChain();
  program.steps[0].deviceWorkspaceBytes = number(int64_t{1} << 44);
  Executable greedy = deviceExecutable(program, {ptx});
  try {
    greedy.run(std::vector{counting(10)});
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos)
        << error.what();
  }
  expectChain(chain().run(std::vector{counting(10)})[0], 10);
}

TEST_F(GpuTest, RefusesBadText) {
  try {
    deviceExecutable(deviceChain(), {{"image", "no ptx at all"}});
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("compiling kernel 'image' ("), std::string::npos)
        << error.what();
  }
}

/// 50 steps: x + 1 + 1 + ...
TEST_F(GpuTest, ManySmallKernelsAreOneGraph) {
  constexpr int steps = 50;
  DimExpr bytes = number(4 * 64);
  Program program;
  program.name = "steps";
  program.inputs = {{"x", DType::F32, {number(64)}}};
  program.outputs = {{"y", DType::F32, {number(64)}}};
  program.buffers = {buffer(BufferInfo::Kind::Input, 0, bytes)};
  for (int i = 0; i < steps; ++i) {
    program.buffers.push_back(i + 1 < steps
                                  ? buffer(BufferInfo::Kind::Temporary, 0, bytes, i, i + 1)
                                  : buffer(BufferInfo::Kind::Output, 0, bytes));
    Step step = kernelStep("image", {i, i + 1}, number(64));
    step.launches = {launchOf("add_one",
                              {bufferParameter(0), bufferParameter(1), sizeParameter(number(64))},
                              number(64))};
    program.steps.push_back(step);
  }
  Executable executable = deviceExecutable(program, {ptx});
  Tensor x = there(counting(64));
  std::vector outputs{there(counting(64))};
  for (int i = 0; i < 10; ++i)
    executable.enqueue(std::vector{x}, outputs, nullptr);
  cuda::waitFor(nullptr);
  constexpr int calls = 200;
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i)
    executable.enqueue(std::vector{x}, outputs, nullptr);
  auto submitted = std::chrono::steady_clock::now();
  cuda::waitFor(nullptr);
  auto end = std::chrono::steady_clock::now();
  auto each = [&](auto to) {
    return std::chrono::duration<double, std::micro>(to - start).count() / calls;
  };
  std::printf("50 kernels: %.1f us per call, %.2f us per kernel, %.2f us to submit\n", each(end),
              each(end) / steps, each(submitted));
  EXPECT_EQ(cuda::toHost(outputs[0], nullptr).as<float>()[7], 57);
}

float valueAt(const Tensor &tensor, int64_t i) {
  return tensor.dtype() == DType::F32 ? tensor.as<float>()[i]
                                      : tensor.converted(DType::F32).as<float>()[i];
}

TEST_F(GpuTest, CuBlasMultipliesMatrices) {
  if (!cuda::cuBlasAvailable())
    GTEST_SKIP() << "cuBLAS not found";
  constexpr int64_t m = 33, n = 65, k = 17;
  for (DType type : {DType::F32, DType::BF16})
    for (bool transposed : {false, true}) {
      Program program;
      program.name = "product";
      auto bytes = [&](int64_t elements) {
        return number(elements * static_cast<int64_t>(sizeOf(type)));
      };
      program.inputs = {{"a", type, {number(m), number(k)}}, {"b", type, {number(k * n)}}};
      program.outputs = {{"c", type, {number(m), number(n)}}};
      program.buffers = {buffer(BufferInfo::Kind::Input, 0, bytes(m * k)),
                         buffer(BufferInfo::Kind::Input, 1, bytes(k * n)),
                         buffer(BufferInfo::Kind::Output, 0, bytes(m * n))};
      for (BufferInfo &info : program.buffers)
        info.dtype = type;
      Step step = kernelStep("cublas.gemm", {0, 1, 2}, number(1));
      step.kind = Step::Kind::Library;
      for (int64_t p : std::initializer_list<int64_t>{1, m, n, k, 0, transposed, 0, 0, m * n, k,
                                                      transposed ? k : n, n})
        step.parameters.push_back(number(p));
      program.steps = {step};
      Executable executable = deviceExecutable(program, {});
      auto values = [&](Shape shape, int64_t modulus) {
        Tensor tensor = Tensor::allocate(DType::F32, std::move(shape));
        for (int64_t i = 0; i < tensor.elements(); ++i)
          tensor.as<float>()[i] = static_cast<float>(i % modulus - modulus / 2);
        return tensor.converted(type);
      };
      Tensor a = values({m, k}, 7), b = values({k * n}, 5);
      for (int round = 0; round < 3; ++round) {
        Tensor c = executable.run(std::vector{a, b})[0];
        for (int64_t i = 0; i < m; i += 8)
          for (int64_t j = 0; j < n; j += 8) {
            float sum = 0;
            for (int64_t l = 0; l < k; ++l)
              sum += valueAt(a, i * k + l) * valueAt(b, transposed ? j * k + l : l * n + j);
            EXPECT_EQ(valueAt(c, i * n + j), sum) << i << " " << j;
          }
      }
    }
}

} // namespace

} // namespace headrace::test
