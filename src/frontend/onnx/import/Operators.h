// The operators of ONNX that can be imported. Adding one takes a function in the file of its family
// and a line in that family's table.
#pragma once

#include "frontend/onnx/import/NodeContext.h"
#include "frontend/onnx/import/ShapeArithmetic.h"

namespace headrace::onnx {

inline constexpr int64_t kOldestOpset = 7, kNewestOpset = 28;

struct Operator {
  const char *opType;
  /// The first version of the operator set for which the import is right.
  int64_t since;
  /// Writes the node as operators of level 1.
  void (*import)(NodeContext &);
  /// Shape arithmetic: the result where all inputs are known at import; nullopt leaves the node to
  /// `import`.
  std::optional<SymbolicValue> (*evaluate)(NodeContext &) = nullptr;
};

using OperatorFamily = llvm::ArrayRef<Operator>;
OperatorFamily arithmeticOperators();
OperatorFamily activationOperators();
OperatorFamily logicOperators();
OperatorFamily linearOperators();
OperatorFamily windowOperators();
OperatorFamily quantizationOperators();
OperatorFamily normalizationOperators();
OperatorFamily reductionOperators();
OperatorFamily layoutOperators();
OperatorFamily indexingOperators();
OperatorFamily valueOperators();
OperatorFamily elementOperators();
OperatorFamily searchOperators();
OperatorFamily paddingOperators();
OperatorFamily resizeOperators();
OperatorFamily gridOperators();
OperatorFamily regionOperators();
OperatorFamily transposedWindowOperators();
OperatorFamily poolPlaceOperators();
OperatorFamily signalOperators();
OperatorFamily recurrentOperators();
OperatorFamily determinantOperators();

/// Null where the operator set has no such operator, or none that can be imported.
const Operator *findOperator(const std::string &opType, int64_t opset);

} // namespace headrace::onnx
