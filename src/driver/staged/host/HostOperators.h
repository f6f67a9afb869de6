// The operators of ONNX that are computed between compiled programs: control flow, sequences,
// optionals, strings, pictures, and those whose result has as many elements as the data say. Adding one takes
// a function in the file of its family and a line in that family's table.
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
};

using HostFamily = std::span<const HostOperator>;
HostFamily controlFlowOperators();
HostFamily sequenceOperators();
HostFamily selectionOperators();
HostFamily stringOperators();
HostFamily encodingOperators();
HostFamily mapOperators();
HostFamily stringShapeOperators();
HostFamily imageOperators();

/// Null where there is none.
HostFunction findHostOperator(const onnx::Node &node, int64_t opset);

/// Whether the node makes strings of what is none, which its attributes tell.
bool yieldsStrings(const onnx::Node &node);

} // namespace headrace::staged
