// The functions of device code on a real device: their errors in units of the last place.
#include "runtime/cuda/CudaTest.h"
#include "runtime/cuda/MathKernels.h"
#include "runtime/system/Error.h"
#include "target/cuda/code/MathCases.h"

#include <cstdio>

namespace headrace::test {

namespace {

class GpuMath : public ::testing::TestWithParam<MathCase> {
protected:
  void SetUp() override {
    try {
      cuda::Device::get(0);
    } catch (const Error &error) {
      GTEST_SKIP() << error.what();
    }
  }

  /// The largest error of the function of that type.
  template <class T> double worstUnits(DType type, const std::string &suffix) {
    const MathCase &c = GetParam();
    std::vector<double> points = mathPoints(c);
    auto count = static_cast<int64_t>(points.size());
    Tensor x = Tensor::allocate(type, {count});
    for (int64_t i = 0; i < count; ++i)
      x.as<T>()[i] = static_cast<T>(points[i]);
    Tensor y = deviceExecutable(program(type, count, "math_" + c.name + suffix),
                                {{"image", mathKernels()}})
                   .run(std::vector{x})[0];
    double worst = 0;
    for (int64_t i = 0; i < count; ++i)
      worst = std::max(worst, unitsBetween(y.as<T>()[i], c.exact(x.as<T>()[i])));
    return worst;
  }

  static Program program(DType type, int64_t count, const std::string &function) {
    DimExpr bytes = number(count * static_cast<int64_t>(sizeOf(type)));
    Program program;
    program.name = function;
    program.inputs = {{"x", type, {number(count)}}};
    program.outputs = {{"y", type, {number(count)}}};
    program.buffers = {buffer(BufferInfo::Kind::Input, 0, bytes),
                       buffer(BufferInfo::Kind::Output, 0, bytes)};
    for (BufferInfo &info : program.buffers)
      info.dtype = type;
    Step step = kernelStep("image", {0, 1}, number(count));
    step.launches = {
        launchOf(function, {bufferParameter(0), bufferParameter(1), sizeParameter(number(count))},
                 number(count))};
    program.steps = {step};
    return program;
  }
};

TEST_P(GpuMath, IsWithinItsUnits) {
  const MathCase &c = GetParam();
  double single = worstUnits<float>(DType::F32, "_f32");
  double twice = worstUnits<double>(DType::F64, "_f64");
  std::printf("%-6s %4.2f units in f32 (at most %g), %4.2f in f64 (at most %g)\n", c.name.c_str(),
              single, c.units32, twice, c.units64);
  EXPECT_LE(single, c.units32);
  EXPECT_LE(twice, c.units64);
}

INSTANTIATE_TEST_SUITE_P(Functions, GpuMath, testing::ValuesIn(mathCases()),
                         [](const auto &info) { return info.param.name; });

} // namespace

} // namespace headrace::test
