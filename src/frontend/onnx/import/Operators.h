// The operators of ONNX that can be imported. Adding one takes a function in the file of its family
// and a line in that family's table.
#pragma once

#include "frontend/onnx/import/NodeContext.h"
#include "frontend/onnx/import/ShapeArithmetic.h"

namespace headrace::onnx {

inline constexpr int64_t kOldestOpset = 1, kNewestOpset = 28;

struct Operator {
  const char *opType;
  /// The first version of the standard operator set for which the import is right. 7 means all
  /// before it, too: imports take the forms of those. Other domains have one version.
  int64_t since;
  /// Writes the node as operators of level 1.
  void (*import)(NodeContext &);
  /// Shape arithmetic: the result if all inputs are known at import; nullopt leaves the node to
  /// `import`.
  std::optional<SymbolicValue> (*evaluate)(NodeContext &) = nullptr;
};

using OperatorFamily = llvm::ArrayRef<Operator>;
OperatorFamily arithmeticOperators();
OperatorFamily activationOperators();
OperatorFamily logicOperators();
OperatorFamily conversionOperators();
OperatorFamily linearOperators();
OperatorFamily windowOperators();
OperatorFamily quantizationOperators();
OperatorFamily normalizationOperators();
OperatorFamily reductionOperators();
OperatorFamily layoutOperators();
OperatorFamily indexingOperators();
OperatorFamily valueOperators();
OperatorFamily attentionOperators();
OperatorFamily rotaryOperators();
OperatorFamily sequenceOperators();
OperatorFamily lossOperators();
OperatorFamily randomOperators();
/// Operators of ai.onnx.preview.
OperatorFamily previewOperators();
/// Operators of ai.onnx.preview.training.
OperatorFamily trainingOperators();
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

/// Null if the domain ("": the standard one, of version `opset`) has no such operator, or none
/// that can be imported.
const Operator *findOperator(const std::string &domain, const std::string &opType, int64_t opset);

/// The node's operator; null if it cannot be imported.
const Operator *operatorOf(const Node &node, int64_t opset);

/// Defines the node's results, which must have an operator. Throws Error; what it asked for and did
/// not get stands in `state.unknown`.
void importNode(const Node &node, ImportState &state);

} // namespace headrace::onnx
