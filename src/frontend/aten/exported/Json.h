// JSON as exported programs have it.
#pragma once

#include "runtime/tensor/DType.h"

#include <nlohmann/json.hpp>

namespace headrace::aten {

using Json = nlohmann::json;

/// One alternative of a union: {"as_tensor": {...}}.
struct Alternative {
  std::string kind;
  const Json &value;
};
Alternative alternative(const Json &json);

/// The element type of a number that the format has for it. Throws Error if Headrace does not have
/// it.
DType elementType(int64_t number);

} // namespace headrace::aten
