#include "runtime/value/RuntimeValue.h"

namespace headrace {

std::string describe(const RuntimeValue &value) {
  if (const Tensor *tensor = value.tensor())
    return std::string(nameOf(tensor->dtype())) + " of " + shapeString(tensor->shape());
  if (const StringTensor *strings = value.strings())
    return "strings of " + shapeString(strings->shape);
  if (const std::vector<RuntimeValue> *sequence = value.sequence())
    return "a sequence of " + std::to_string(sequence->size());
  if (const MapValue *map = value.map())
    return "a map of " + std::to_string(map->keys.tensor()
                                            ? static_cast<size_t>(map->keys.tensor()->elements())
                                            : map->keys.strings()->elements.size());
  return "nothing";
}

} // namespace headrace
