// Probabilities of classes from those of pairs of classes, as support vector machines have them.
#pragma once

#include "frontend/onnx/import/NodeContext.h"

namespace headrace::onnx {

/// The probability of each class from `pairs` ([rows, pairs], the probability of the first of two
/// classes against the second, in the order 0-1, 0-2, ... 1-2, ...), by the second method of Wu,
/// Lin and Weng (2004), with libsvm's stopping criterion.
mlir::Value classProbabilities(NodeContext &c, mlir::Value pairs, int64_t classes);

} // namespace headrace::onnx
