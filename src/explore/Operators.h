// Operators as tasks. A contraction C = A B of m x k and k x n elements, A being weights, is cut
// along one of its three axes; whichever it is, its tasks have m*n*k cycles of work in all.
#pragma once

#include "explore/GraphWriter.h"

namespace headrace::explore {

enum class Form {
  MatrixVector,     ///< "mv": a task for each of n columns, A b_j
  OuterProduct,     ///< "op": a task for each of k rank-1 products, which are added up
  LeftMatrixVector, ///< "lmv": a task for each of m rows, a_i B
  Direct            ///< "direct", of convolutions: a task for each filter and tap, no patches
};

std::string_view nameOf(Form form);

/// How volumes are counted.
enum class Convention {
  Tight, ///< an edge carries the elements that are made or read
  Slide  ///< every partial result counts as its whole destination, patches as what is read for
         ///< them, and results are stored once more unless they come by columns
};

std::string_view nameOf(Convention convention);

struct ContractionSizes {
  int64_t m, n, k;
};

struct ConvolutionSizes {
  int64_t channels, height, width;
  int64_t filters, filterHeight, filterWidth;

  int64_t outputHeight() const { return height - filterHeight + 1; }
  int64_t outputWidth() const { return width - filterWidth + 1; }
  /// Of the filters, and the patches under them.
  ContractionSizes contraction() const {
    return {filters, outputHeight() * outputWidth(), channels * filterHeight * filterWidth};
  }
};

/// `right` is B.
Stream writeContraction(GraphWriter &writer, const Stream &right, const ContractionSizes &sizes,
                        Form form, Convention convention);
/// Patches and a contraction; or directly.
Stream writeConvolution(GraphWriter &writer, const Stream &image, const ConvolutionSizes &sizes,
                        Form form, Convention convention);
Stream writeElementwise(GraphWriter &writer, const Stream &input);
/// Also any reduction: a downsampler to `outputs` elements.
Stream writePool(GraphWriter &writer, const Stream &input, int64_t outputs);
/// Over `rows` rows.
Stream writeSoftmax(GraphWriter &writer, const Stream &input, int64_t rows);

} // namespace headrace::explore
