// An operator as the accelerator computes it: a product, a convolution, a pooling or cells alone,
// then stages of the ALU over its results. All numbers are integers. Plain data, without MLIR.
#pragma once

#include "runtime/tensor/Tensor.h"
#include "runtime/vta/BufferLayout.h"
#include "runtime/vta/Configuration.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace headrace::vta {

/// The logical sizes of a value. A matrix is an image of 1x1 whose rows are the batch. In DRAM it
/// is in blocks of the configuration's batch x block: [batch][channels][height][width][b][c],
/// with zeros, or anything, if blocks stand over.
struct Image {
  int64_t batch, channels, height, width;
  bool operator==(const Image &) const = default;
};

/// Its layout, as buffers have it (shape: batch, channels, height, width).
Layout layoutOf(const Image &image, const Configuration &configuration);

/// A number for every cell.
struct Immediate {
  int32_t value;
};
/// A number for each channel of the results: a constant of the operator.
struct PerChannel {
  std::vector<int32_t> values;
};
/// A cell of another value, of the results' sizes.
struct FromImage {
  size_t input; ///< of the operator's inputs, from 1 on; 0 is what the operator itself reads
  DType type;   ///< I8 or I32, as it is in DRAM
  /// The cell is shifted left by it before, from 0 to 31: a residual of a coarser scale.
  int32_t shift = 0;
};

/// A step over all results: result = op(result, operand), in wrapping 32 bits.
struct AluStage {
  enum class Op {
    Add,
    Mul,
    Min,
    Max,
    ShiftRight,      ///< divides by 2^n rounding down; left if n is negative
    RoundShiftRight, ///< divides by 2^n, n >= 1, to the nearest, ties to even; |result| < 2^30
  };
  Op op;
  std::variant<Immediate, PerChannel, FromImage> operand;
};

/// How windows slide over an image.
struct Sliding {
  int64_t strideY = 1, strideX = 1;
  int64_t padTop = 0, padBottom = 0, padLeft = 0, padRight = 0;
  bool isPadded() const { return padTop != 0 || padBottom != 0 || padLeft != 0 || padRight != 0; }
};

/// results[n, o, y, x] = sum over i, ky, kx of input[n, g + i, y * strideY + ky - padTop, ...] *
/// weights[o, i, ky, kx], where g is the first channel of the group of o.
struct Convolution : Sliding {
  Tensor weights; ///< I8, out x (in / groups) x window height x window width
  int64_t groups = 1;
};
/// The largest of each window, on the ALU. Padding counts for nothing.
struct MaxPool : Sliding {
  int64_t windowY, windowX;
};
/// The input itself (I8 or I32 in DRAM), as what stages begin with.
struct Cells {
  DType input;
};

struct Operator {
  std::string name;
  Image input;
  std::variant<Convolution, MaxPool, Cells> core;
  std::vector<AluStage> stages;
  /// I8: the low bits are stored (stages clip before where they must).
  Image result() const;
  /// Multiplications and additions, those of padding blocks left out.
  int64_t macs() const;
};

} // namespace headrace::vta
