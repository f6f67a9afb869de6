// An operator counted in blocks of a configuration: the loops that schedules tile.
#pragma once

#include "runtime/system/Rounding.h"
#include "target/vta/schedule/Operator.h"

namespace headrace::vta {

/// Neighbouring blocks of output channels that read the same blocks of input channels: all of them,
/// or those of a group.
struct Family {
  int64_t begin, end; ///< blocks of output channels
  int64_t firstIn;    ///< block of input channels
};

/// The operator must have passed unsupportedReason(op, configuration) up to its sizes.
struct OperatorShape {
  OperatorShape(const Operator &op, const Configuration &configuration);

  bool multiplies;       ///< a convolution: the matrix unit's, inputs in INP and weights in WGT
  bool pools;            ///< the ALU reads windows
  int64_t batch;         ///< blocks
  int64_t out, in;       ///< blocks of channels, of results and of inputs
  int64_t depth;         ///< blocks of input channels that a result is a sum over
  int64_t height, width; ///< of results
  int64_t inputHeight, inputWidth;
  int64_t windowY = 1, windowX = 1, strideY = 1, strideX = 1;
  int64_t padTop = 0, padLeft = 0;
  std::vector<Family> families;
  int64_t largestFamily = 1;

  int64_t window() const { return windowY * windowX; }
  /// Rows of inputs on the chip for `rows` rows of results. If windows have one row, a convolution
  /// does not load the rows between them.
  int64_t inputRows(int64_t rows) const { return (rows - 1) * rowStep() + windowY; }
  int64_t inputColumns(int64_t columns) const { return (columns - 1) * strideX + windowX; }
  /// Between the windows of two results, on the chip.
  int64_t rowStep() const { return multiplies && windowY == 1 ? 1 : strideY; }
};

} // namespace headrace::vta
