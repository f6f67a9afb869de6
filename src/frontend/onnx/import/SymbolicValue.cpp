#include "frontend/onnx/import/SymbolicValue.h"

using namespace mlir;

namespace headrace::onnx {

std::optional<std::vector<int64_t>> SymbolicValue::constants() const {
  std::vector<int64_t> values;
  for (AffineExpr element : elements) {
    auto value = constantValue(element);
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

bool isIntegerOrBool(DType dtype) {
  switch (dtype) {
  case DType::Bool:
  case DType::I8:
  case DType::I16:
  case DType::I32:
  case DType::I64:
    return true;
  default:
    return false;
  }
}

SymbolicValue symbolicVector(ArrayRef<AffineExpr> elements) {
  return {DType::I64, {static_cast<int64_t>(elements.size())}, SymbolicShape(elements)};
}

std::optional<SymbolicValue> symbolicValue(const Tensor &tensor, MLIRContext *context) {
  if (!isIntegerOrBool(tensor.dtype()) || tensor.elements() > kMaxKnownElements)
    return std::nullopt;
  SymbolicValue value{tensor.dtype(), tensor.shape(), {}};
  Tensor wide = tensor.converted(DType::I64);
  for (int64_t element : ArrayRef(wide.as<int64_t>(), wide.elements()))
    value.elements.push_back(constantDim(element, context));
  return value;
}

Tensor toTensor(const SymbolicValue &value, ArrayRef<int64_t> constants) {
  Tensor wide = Tensor::allocate(DType::I64, value.shape);
  llvm::copy(constants, wide.as<int64_t>());
  return wide.converted(value.dtype);
}

} // namespace headrace::onnx
