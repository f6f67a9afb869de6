// A model made ready for quantization: nodes in order, constants removed from the inputs, f16 and
// bf16 as f32, batch normalization folded into the matmul or convolution before it.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"

namespace headrace::quantize {

/// Throws Error if the model cannot be quantized as a whole.
void prepare(onnx::Model &model);

/// Half-precision numbers become single ones: constants, and what nodes cast to. Inputs and outputs
/// keep their types.
void computeInSingle(onnx::Graph &graph);

/// y = batchnorm(conv(x)) becomes one convolution with other weights, if all its numbers are
/// constants and nobody else reads the result of the convolution.
void foldBatchNormalization(onnx::Graph &graph);

/// Leaves initializers and Constant nodes out that nothing reads any more.
void removeUnusedConstants(onnx::Graph &graph);

} // namespace headrace::quantize
