// Nodes of ONNX as the host operators of the runtime take them.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"
#include "runtime/operators/HostOperators.h"

namespace headrace::split {

/// `opset` is the version of the node's operator set.
operators::HostNode hostNodeOf(const onnx::Node &node, int64_t opset);

/// Null if the runtime has no such operator.
const operators::HostOperator *findHostOperator(const onnx::Node &node, int64_t opset);

/// Whether the node makes strings of other values, which its attributes say.
bool yieldsStrings(const onnx::Node &node);

/// Whether the host computes the node of a program for this target cheaper than compiled code does.
bool isCheaperOnHost(const onnx::Node &node, int64_t opset, const std::string &target);

} // namespace headrace::split
