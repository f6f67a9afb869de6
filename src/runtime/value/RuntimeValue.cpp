#include "runtime/value/RuntimeValue.h"

namespace headrace {

std::string describe(const RuntimeValue &value) {
  if (const Tensor *tensor = value.tensor())
    return std::string(nameOf(tensor->dtype())) + " of " + shapeString(tensor->shape());
  if (const StringTensor *strings = value.strings())
    return "strings of " + shapeString(strings->shape);
  if (const std::vector<RuntimeValue> *sequence = value.sequence())
    return "a sequence of " + std::to_string(sequence->size());
  return "nothing";
}

} // namespace headrace
