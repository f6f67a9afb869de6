// The operators of ATen that programs are written for. Adding one takes a function in the file of
// its family and a line in that family's table.
#pragma once

#include "frontend/aten/Call.h"

#include <functional>

namespace headrace::aten {

using Write = std::function<Value(Call &)>;

struct Operator {
  /// "relu" stands for all overloads, "max.dim" for one.
  std::string name;
  Write write;
};
using Operators = std::vector<Operator>;

Operators arithmeticOperators();
Operators activationOperators();
Operators comparisonOperators();
Operators conversionOperators();
Operators viewOperators();
Operators movementOperators();
Operators creationOperators();
Operators indexingOperators();
Operators reductionOperators();
Operators normalizationOperators();
Operators productOperators();
Operators windowOperators();
Operators resizeOperators();
Operators attentionOperators();
Operators lossOperators();
Operators orderOperators();
Operators partOperators();
Operators samplingOperators();

/// The function of "add.Tensor"; null if there is none.
const Write *findOperator(const std::string &name);

} // namespace headrace::aten
