#include "tensors/Element.h"

#include "runtime/system/Error.h"
#include "runtime/tensor/SmallFloat.h"

namespace headrace::cli {

long double elementAt(const Tensor &tensor, int64_t i) {
  if (auto format = smallFloat(tensor.dtype()))
    return smallToFloat(*format, tensor.as<uint8_t>()[i]);
  switch (tensor.dtype()) {
  case DType::Bool:
  case DType::U8:
  case DType::U4:
    return tensor.as<uint8_t>()[i];
  case DType::I4:
  case DType::I8:
    return tensor.as<int8_t>()[i];
  case DType::I16:
    return tensor.as<int16_t>()[i];
  case DType::U16:
    return tensor.as<uint16_t>()[i];
  case DType::I32:
    return tensor.as<int32_t>()[i];
  case DType::U32:
    return tensor.as<uint32_t>()[i];
  case DType::I64:
    return tensor.as<int64_t>()[i];
  case DType::U64:
    return tensor.as<uint64_t>()[i];
  case DType::F16:
    return f16ToFloat(tensor.as<uint16_t>()[i]);
  case DType::BF16:
    return bf16ToFloat(tensor.as<uint16_t>()[i]);
  case DType::F32:
    return tensor.as<float>()[i];
  case DType::F64:
    return tensor.as<double>()[i];
  default:
    throw InternalError("a tensor has an unknown element type");
  }
}

bool isFloat(DType type) {
  return type == DType::F16 || type == DType::BF16 || type == DType::F32 || type == DType::F64 ||
         smallFloat(type);
}

} // namespace headrace::cli
