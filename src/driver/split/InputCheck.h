// Inputs of a split model compared with what the model declares.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"
#include "runtime/system/Error.h"

#include <map>

namespace headrace::split {

/// Compares values with what a model declares; sizes of one name are equal.
class InputCheck {
public:
  std::map<std::string, int64_t> sizes; // by name

  /// Throws Error if the value is another than declared.
  void check(const onnx::ValueInfo &declared, const RuntimeValue &value);

private:
  [[noreturn]] void refuse(ErrorKind kind, const std::string &expected,
                           const RuntimeValue &value) const;
  void checkValue(const onnx::ValueInfo &declared, const RuntimeValue &value);
  void checkMap(const onnx::ValueInfo &declared, const RuntimeValue &value);
  void checkTensor(const onnx::ValueInfo &declared, const RuntimeValue &value);

  std::string what;
  bool isElement = false; // of a sequence: each has sizes of its own
};

} // namespace headrace::split
