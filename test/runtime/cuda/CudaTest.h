#pragma once

#include "runtime/cuda/FakeDriver.h"
#include "runtime/cuda/Memory.h"
#include "runtime/program/Executable.h"
#include "runtime/program/Programs.h"
#include "runtime/program/ValueCheck.h"

#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace headrace::test {

/// Tests against the driver without a device, which the build names.
class CudaTest : public ::testing::Test {
protected:
  CudaTest() {
    ::setenv("HEADRACE_CUDA_DRIVER", FAKE_CUDA_DRIVER, 1);
    ::setenv("HEADRACE_CACHE_DIR", "", 1);
    void *library = ::dlopen(FAKE_CUDA_DRIVER, RTLD_NOW);
    auto get = reinterpret_cast<FakeDriver *(*)()>(::dlsym(library, "fakeDriver"));
    fake = get();
  }
  int calls(const char *function) const { return fake->calls[function]; }

  FakeDriver *fake;
};

inline LaunchParameter bufferParameter(int operand) {
  LaunchParameter parameter;
  parameter.index = operand;
  return parameter;
}

inline LaunchParameter sizeParameter(DimExpr size) {
  LaunchParameter parameter;
  parameter.kind = LaunchParameter::Kind::Size;
  parameter.size = std::move(size);
  return parameter;
}

inline LaunchParameter workspaceParameter(int64_t offset) {
  LaunchParameter parameter;
  parameter.kind = LaunchParameter::Kind::Workspace;
  parameter.size = number(offset);
  return parameter;
}

inline Launch launchOf(std::string function, std::vector<LaunchParameter> parameters,
                       DimExpr blocks = number(1)) {
  Launch launch;
  launch.function = std::move(function);
  launch.grid = {std::move(blocks), number(1), number(1)};
  launch.parameters = std::move(parameters);
  return launch;
}

inline const DeviceImage fakeImage = {"image", ".fake"};

/// chainProgram (Programs.h) on the device.
inline Program deviceChain() {
  Program program = chainProgram();
  DimExpr n = DimExpr::symbol(0);
  for (Step &step : program.steps) {
    step.symbol = "image";
    std::vector<LaunchParameter> parameters;
    for (size_t i = 0; i < step.operands.size(); ++i)
      parameters.push_back(bufferParameter(static_cast<int>(i)));
    parameters.push_back(sizeParameter(n));
    step.launches = {launchOf(parameters.size() == 4 ? "multiply" : "add_one", parameters, n)};
  }
  return onEngine("cuda", std::move(program));
}

/// deviceChain of a second input [n] of i64, whose values must be indices of the first.
inline Program checkedChain() {
  Program program = deviceChain();
  DimExpr n = DimExpr::symbol(0);
  int indices = static_cast<int>(program.buffers.size());
  program.inputs.push_back({"i", DType::I64, {n}});
  program.buffers.push_back(buffer(BufferInfo::Kind::Input, 1, n * number(8)));
  program.buffers.back().dtype = DType::I64;
  Step check;
  check.kind = Step::Kind::Library;
  check.name = "node 'embed' (Gather)";
  check.symbol = checkSymbol(ValueCheck::Kind::Index);
  check.operands = {indices};
  check.parameters = checkParameters(DType::I64, DimExpr() - n, n, std::nullopt, {n});
  program.steps.insert(program.steps.begin(), check);
  for (BufferInfo &each : program.buffers)
    if (each.kind == BufferInfo::Kind::Temporary) {
      ++each.firstStep;
      ++each.lastStep;
    }
  return program;
}

/// 0, 1, ..., with `bad` at the position.
inline Tensor indicesWith(int64_t n, int64_t position = -1, int64_t bad = 0) {
  Tensor tensor = Tensor::allocate(DType::I64, {n});
  for (int64_t i = 0; i < n; ++i)
    tensor.as<int64_t>()[i] = i == position ? bad : i;
  return tensor;
}

inline Executable deviceExecutable(Program program, std::vector<DeviceImage> images) {
  return Executable(onEngine("cuda", std::move(program)),
                    ProgramCode{{}, std::move(images), nullptr});
}

inline Executable deviceChainExecutable() { return deviceExecutable(deviceChain(), {fakeImage}); }

inline Tensor counting(int64_t n) {
  Tensor tensor = Tensor::allocate(DType::F32, {n});
  for (int64_t i = 0; i < n; ++i)
    tensor.as<float>()[i] = static_cast<float>(i);
  return tensor;
}

inline void expectChain(const Tensor &y, int64_t n) {
  ASSERT_EQ(y.shape(), Shape{n});
  for (int64_t i = 0; i < n; ++i)
    EXPECT_EQ(y.as<float>()[i], static_cast<float>((i + 1) * (i + 2)));
}

} // namespace headrace::test
