// Rotary position embeddings, in the standard's form and in ONNX Runtime's.
#pragma once

#include "frontend/onnx/import/ops/Composing.h"

namespace headrace::onnx {

/// Rotates pairs of numbers of each head of `x` [batch, heads, length, depth] by angles whose
/// cosines and sines are [batch or 1, length, pairs]: the first numbers of each head with those
/// that many later, or neighbours if they are `interleaved`. Numbers beyond the pairs stay.
mlir::Value rotated(NodeContext &c, mlir::Value x, mlir::Value cosines, mlir::Value sines,
                    bool interleaved);

} // namespace headrace::onnx
