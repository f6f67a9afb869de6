// The operators of domain ai.onnx.ml that are compositions of level-1 operators, as
// exporters of scikit-learn and of boosted trees write them. Operators on strings and maps run on
// the host (runtime/operators).
#pragma once

#include "frontend/onnx/import/Operators.h"

namespace headrace::onnx {

OperatorFamily featureOperators();
OperatorFamily linearModelOperators();
OperatorFamily supportVectorOperators();
OperatorFamily treeOperators();

} // namespace headrace::onnx
