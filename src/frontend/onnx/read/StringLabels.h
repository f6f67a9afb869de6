// Classifiers whose labels are strings.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"

namespace headrace::onnx {

/// Gives such classifiers of ai.onnx.ml the positions of their labels as labels, and a LabelEncoder
/// after each that makes strings of those: so the classifier itself can be compiled.
void separateStringLabels(std::vector<Node> &nodes);

} // namespace headrace::onnx
