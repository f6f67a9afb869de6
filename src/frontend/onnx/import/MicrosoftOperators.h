// The operators of domain com.microsoft, which ONNX Runtime's optimizer, quantizer and model
// builder write: a family a file.
#pragma once

#include "frontend/onnx/import/Operators.h"

namespace headrace::onnx {

OperatorFamily microsoftFusedOperators();
OperatorFamily microsoftNormalizationOperators();
OperatorFamily microsoftAttentionOperators();
OperatorFamily microsoftGroupedAttentionOperators();
OperatorFamily microsoftQuantizedOperators();
OperatorFamily microsoftWeightOperators();

} // namespace headrace::onnx
