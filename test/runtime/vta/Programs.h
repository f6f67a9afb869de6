// Programs written by hand against the runtime, and convolutions by the product's schedules, with
// what they should compute.
#pragma once

#include "runtime/vta/CommandStream.h"
#include "runtime/vta/Examples.h"

#include <functional>

namespace headrace::vta::test {

struct TestProgram {
  std::string name;
  Program program;
  Tensor expected; ///< of the output "y"
  /// Its computation, as JSON for a reference elsewhere.
  std::string description;
};

/// y = x, cut to 8 bits: a load and a store of rows x columns elements, zeros around them.
TestProgram copyProgram(const Configuration &configuration, int rows, int columns, Padding padding);

/// y = op(x, ...) for accumulators of rows x columns elements: with a number, or a tensor.
struct AluStep {
  AluOp op;
  std::optional<int> imm;
};
TestProgram aluProgram(const Configuration &configuration, std::string name, int rows, int columns,
                       const std::vector<AluStep> &steps);

/// The largest of each window of 3x3, a step of 2 apart, with zeros around.
TestProgram poolProgram(const Configuration &configuration, int channels, int size);

/// y = clip(a * w^T >> 8) with a of rows x depth and w of columns x depth.
struct Dense {
  int64_t rows, columns, depth;
  int threads = 1;
  bool compressed = true;
};
TestProgram denseProgram(const Configuration &configuration, const Dense &dense);

/// y = clip(relu((conv(x, w) + bias) >> shift) + residual), what is not asked for left out.
struct Convolution {
  int64_t image, in, out, window, stride;
  int threads = 1;
  int64_t groups = 1;
  bool bias = false, relu = false, residual = false;
};
TestProgram convolutionProgram(const Configuration &configuration, const Convolution &convolution);

/// All of them small, in one configuration.
std::vector<TestProgram> smallPrograms(const Configuration &configuration);

} // namespace headrace::vta::test
