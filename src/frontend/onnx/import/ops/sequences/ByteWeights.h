// Weights of bytes in recurrent layers, multiplied by numbers that are rounded to bytes of their
// own range. With zero points a and b and scales s and t,
//   sum (q - a) s (w - b) t = (sum qw - a sum (w - b) - b sum q) s t,
// so that products are of bytes and their sums exact, and sums over weights are constants.
#pragma once

#include "frontend/onnx/import/NodeContext.h"

namespace headrace::onnx {

struct ByteWeights {
  mlir::Value numbers;    // signed, [directions, terms, columns]
  mlir::Value sums;       // of each column, less its zero points, in 32 bits
  mlir::Value scales;     // of each column
  mlir::Value zeroPoints; // of each column, of the signed numbers; null if all are 0
};

/// Input `i`, with scale and zero point at `scaleAt` and after it, both for each direction or for
/// each of its columns; scales become numbers of type `real`.
ByteWeights readByteWeights(NodeContext &c, size_t i, size_t scaleAt, mlir::Type real);

/// One column's sum of products and what it takes to say which number that stands for.
struct ByteSum {
  mlir::Value products;           // sum qw
  mlir::Value scale, zeroPoint;   // s, a
  mlir::Value sums, scales;       // sum (w - b), t
  mlir::Value zeroPoints, factor; // b, sum q; null if b is 0
};
mlir::Value numberOfSum(ScalarMath &m, const ByteSum &sum);

/// Weights [terms, gates * hidden] as [terms / n, gates, hidden, n], with the n terms side by side
/// that CPUs multiply at a time: four, or one if the number of terms is not a multiple of four.
mlir::Value besideEachOther(NodeContext &c, mlir::Value weights, int64_t gates);

} // namespace headrace::onnx
