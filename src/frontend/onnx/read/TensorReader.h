// TensorProto to Tensor.
#pragma once

#include "frontend/onnx/read/ExternalData.h"
#include "frontend/onnx/read/Wire.h"
#include "runtime/tensor/Tensor.h"
#include "runtime/value/RuntimeValue.h"

#include <memory>
#include <optional>
#include <string>

namespace headrace::onnx {

/// The memory that tensors of one model borrow from.
struct TensorSource {
  /// Keeps the model's bytes alive for tensors that stay in them; null: tensors are copied.
  std::shared_ptr<const void> owner;
  ExternalData external;
};

/// A tensor of numbers or of strings.
struct NamedTensor {
  std::string name;
  Tensor tensor;
  std::shared_ptr<const StringTensor> strings;
};

/// `role` says what it is in messages: "initializer", "tensor".
NamedTensor readTensor(wire::Bytes, const char *role, TensorSource &);

/// The type of a TensorProto.DataType code, if Headrace has it.
std::optional<DType> dtypeOfCode(int32_t code);
/// TensorProto.DataType of strings.
inline constexpr int32_t kStringCode = 8;

} // namespace headrace::onnx
