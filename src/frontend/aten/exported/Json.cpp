#include "frontend/aten/exported/Json.h"

#include "runtime/system/Error.h"

namespace headrace::aten {

Alternative alternative(const Json &json) {
  if (!json.is_object() || json.size() != 1)
    throw Error(ErrorKind::InvalidFile,
                "expected one kind of a value, got " + json.dump().substr(0, 80));
  return {json.begin().key(), json.begin().value()};
}

DType elementType(int64_t number) {
  switch (number) {
  case 1:
    return DType::U8;
  case 2:
    return DType::I8;
  case 3:
    return DType::I16;
  case 4:
    return DType::I32;
  case 5:
    return DType::I64;
  case 6:
    return DType::F16;
  case 7:
    return DType::F32;
  case 8:
    return DType::F64;
  case 12:
    return DType::Bool;
  case 13:
    return DType::BF16;
  default:
    throw Error(ErrorKind::Unsupported,
                "tensors of PyTorch's element type " + std::to_string(number));
  }
}

} // namespace headrace::aten
