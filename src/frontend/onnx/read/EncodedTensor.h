// A TensorProto taken apart, its data not yet decoded.
#pragma once

#include "frontend/onnx/read/Wire.h"
#include "runtime/tensor/Tensor.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headrace::onnx {

/// More than any operator takes; a bound for what a file can ask for.
constexpr size_t maxDims = 32;

/// A run of typed data is kept as bytes whether it was packed or not: elements are encoded alike.
struct EncodedTensor {
  std::string name;
  Shape dims;
  int32_t typeCode = 0;
  wire::Bytes raw;
  uint32_t typedField = 0; // which of float_data, int32_data, ... is used
  std::vector<wire::Bytes> typedRuns;
  std::vector<wire::Bytes> strings;
  bool mixesTypedFields = false;
  bool hasSegment = false;
  bool isExternal = false;
  std::vector<std::pair<std::string, std::string>> externalEntries;
};

EncodedTensor readEncodedTensor(wire::Bytes);

} // namespace headrace::onnx
