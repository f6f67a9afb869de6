// Values that a model takes, yields and passes on between its parts: a tensor of numbers, a tensor
// of strings, a sequence of values, a map, or nothing (an optional that is empty).
#pragma once

#include "runtime/tensor/Tensor.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace headrace {

/// Row-major; as many elements as the shape says.
struct StringTensor {
  Shape shape;
  std::vector<std::string> elements;
};

struct MapValue;

/// Copies share what they hold, which does not change.
class RuntimeValue {
public:
  enum class Kind { Nothing, Tensor, Strings, Sequence, Map };

  /// An empty optional.
  RuntimeValue() = default;
  RuntimeValue(headrace::Tensor tensor) : content(std::move(tensor)) {}
  RuntimeValue(StringTensor strings)
      : content(std::make_shared<const StringTensor>(std::move(strings))) {}
  RuntimeValue(std::shared_ptr<const StringTensor> strings) : content(std::move(strings)) {}
  RuntimeValue(std::vector<RuntimeValue> elements)
      : content(std::make_shared<const std::vector<RuntimeValue>>(std::move(elements))) {}
  RuntimeValue(std::shared_ptr<const MapValue> map) : content(std::move(map)) {}

  Kind kind() const { return static_cast<Kind>(content.index()); }
  bool isNothing() const { return kind() == Kind::Nothing; }

  // Null if it is something else.
  const headrace::Tensor *tensor() const { return std::get_if<headrace::Tensor>(&content); }
  const StringTensor *strings() const { return pointee<StringTensor>(); }
  const std::vector<RuntimeValue> *sequence() const { return pointee<std::vector<RuntimeValue>>(); }
  const MapValue *map() const { return pointee<MapValue>(); }

private:
  template <class T> const T *pointee() const {
    auto *held = std::get_if<std::shared_ptr<const T>>(&content);
    return held ? held->get() : nullptr;
  }

  std::variant<std::monostate, headrace::Tensor, std::shared_ptr<const StringTensor>,
               std::shared_ptr<const std::vector<RuntimeValue>>, std::shared_ptr<const MapValue>>
      content;
};

/// The keys, i64 or strings, and for each the value: two lists of one length, tensors of rank 1.
struct MapValue {
  RuntimeValue keys, values;
};

/// For messages: "f32 of 2x3", "strings of 4", "a sequence of 3", "a map of 5", "nothing".
std::string describe(const RuntimeValue &value);

} // namespace headrace
