#include "driver/split/InputCheck.h"

#include "frontend/onnx/import/Importer.h"
#include "runtime/operators/TensorParts.h"
#include "runtime/system/Text.h"

namespace headrace::split {

void InputCheck::check(const onnx::ValueInfo &declared, const RuntimeValue &value) {
  what = "input " + inQuotes(declared.name) + ": ";
  checkValue(declared, value);
}

void InputCheck::refuse(ErrorKind kind, const std::string &expected,
                        const RuntimeValue &value) const {
  throw Error(kind, what + "expected " + expected + ", got " + describe(value));
}

void InputCheck::checkValue(const onnx::ValueInfo &declared, const RuntimeValue &value) {
  switch (declared.kind) {
  case onnx::ValueInfo::Optional:
    if (!value.isNothing() && declared.element)
      checkValue(*declared.element, value);
    return;
  case onnx::ValueInfo::Sequence:
    if (!value.sequence())
      refuse(ErrorKind::TypeMismatch, "a sequence", value);
    isElement = true;
    for (const RuntimeValue &element : *value.sequence())
      if (declared.element)
        checkValue(*declared.element, element);
    isElement = false;
    return;
  case onnx::ValueInfo::Map:
    return checkMap(declared, value);
  case onnx::ValueInfo::Tensor:
    return checkTensor(declared, value);
  case onnx::ValueInfo::Unknown:
    return;
  }
}

void InputCheck::checkMap(const onnx::ValueInfo &declared, const RuntimeValue &value) {
  auto typeOf = [](const RuntimeValue &list) {
    return list.tensor() ? std::string(nameOf(list.tensor()->dtype())) : "string";
  };
  auto lengthOf = [](const RuntimeValue &list) {
    const Shape *shape = operators::shapeOf(list);
    return shape && shape->size() == 1 ? shape->front() : -1;
  };
  const MapValue *map = value.map();
  bool isMap = map && lengthOf(map->keys) >= 0 && lengthOf(map->keys) == lengthOf(map->values);
  if (!isMap)
    refuse(ErrorKind::TypeMismatch, declared.typeText(), value);
  std::string type = "map(" + typeOf(map->keys) + ", " + typeOf(map->values) + ")";
  if (type != declared.typeText())
    throw Error(ErrorKind::TypeMismatch,
                what + "expected " + declared.typeText() + ", got " + type);
}

void InputCheck::checkTensor(const onnx::ValueInfo &declared, const RuntimeValue &value) {
  const Shape *shape = nullptr;
  if (declared.isString && value.strings())
    shape = &value.strings()->shape;
  else if (const Tensor *tensor = value.tensor(); tensor && tensor->dtype() == declared.dtype)
    shape = &tensor->shape();
  if (!shape)
    refuse(ErrorKind::TypeMismatch, declared.typeText(), value);
  if (!declared.shape)
    return;
  if (shape->size() != declared.shape->size())
    refuse(ErrorKind::ShapeMismatch, "rank " + std::to_string(declared.shape->size()), value);
  for (size_t i = 0; i < shape->size(); ++i) {
    const onnx::Dim &dim = (*declared.shape)[i];
    int64_t expected = dim.value.value_or((*shape)[i]);
    if (!dim.value && onnx::isNamed(dim) && !isElement)
      expected = sizes.try_emplace(dim.symbol, expected).first->second;
    if (expected != (*shape)[i])
      refuse(ErrorKind::ShapeMismatch,
             "size " + std::to_string(expected) +
                 (dim.value ? "" : " of " + inQuotes(dim.symbol) + " as elsewhere") +
                 " in dimension " + std::to_string(i),
             value);
  }
}

} // namespace headrace::split
