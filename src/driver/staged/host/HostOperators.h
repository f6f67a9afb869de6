// The operators of ONNX that are computed between compiled programs: control flow, sequences,
// optionals, strings, pictures, results of data-dependent size, movement by numbers that keep
// changing, and work whose amount depends on data. Adding one takes a function in the file of its
// family and a line in that family's table.
#pragma once

#include "driver/staged/host/HostCall.h"

namespace headrace::staged {

/// The values of the node's outputs, in order.
using HostFunction = std::vector<RuntimeValue> (*)(HostCall &);

struct HostOperator {
  const char *domain, *opType;
  /// The first version of the operator set for which it is right.
  int64_t since;
  HostFunction function;
  /// Inputs from this one on are numbers that compiled code is made for: where those keep changing,
  /// the operator runs here. None: only on values that compiled code does not take.
  std::optional<size_t> parametersFrom = std::nullopt;
  /// Whether a node is much cheaper here than compiled, because its work depends on data.
  bool (*isCheaper)(const onnx::Node &) = nullptr;
};

using HostFamily = std::span<const HostOperator>;
HostFamily controlFlowOperators();
HostFamily sequenceOperators();
HostFamily selectionOperators();
HostFamily suppressionOperators();
HostFamily stringOperators();
HostFamily tokenizerOperators();
HostFamily encodingOperators();
HostFamily mapOperators();
HostFamily stringShapeOperators();
HostFamily imageOperators();
HostFamily movementOperators();
HostFamily regionOperators();

/// Null if there is none.
const HostOperator *findHostOperator(const onnx::Node &node, int64_t opset);

/// Whether the node makes strings of other values, by its attributes.
bool yieldsStrings(const onnx::Node &node);

/// Whether the host computes the node of a program for this target cheaper than compiled code does.
bool isCheaperOnHost(const onnx::Node &node, int64_t opset, const std::string &target);

} // namespace headrace::staged
