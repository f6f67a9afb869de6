// Operators that the runtime computes between compiled programs: control flow, sequences,
// optionals, strings, images, results of data-dependent size, data movement by integers that change
// from call to call, and work whose amount depends on data. Their names and meaning are ONNX's. A
// new one takes a function in the file of its family and a line in that family's table.
#pragma once

#include "runtime/operators/HostCall.h"

namespace headrace::operators {

/// The values of the node's outputs, in order.
using HostFunction = std::vector<RuntimeValue> (*)(HostCall &);

struct HostOperator {
  const char *domain, *opType;
  /// The first version of the operator set for which it is right.
  int64_t since;
  HostFunction function;
  /// Inputs from this one on are numbers that compiled code is made for: if those keep changing,
  /// the operator runs here. None: only on values that compiled code does not take.
  std::optional<size_t> parametersFrom = std::nullopt;
  /// Whether a node is much cheaper here than compiled, because its work depends on data.
  bool (*isCheaper)(const HostNode &) = nullptr;
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

/// Null if no operator has this name in this version of its operator set.
const HostOperator *findHostOperator(const std::string &domain, const std::string &opType,
                                     int64_t version);

} // namespace headrace::operators
