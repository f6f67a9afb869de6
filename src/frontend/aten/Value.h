// Operands and results of ATen operators.
#pragma once

#include "frontend/graph/GraphBuilder.h"

#include <string>
#include <variant>
#include <vector>

namespace headrace::aten {

using graph::GraphBuilder;
using graph::Integers;
using graph::Node;
using graph::OpenSize;
using graph::Size;
using graph::Sizes;

struct Value;
using List = std::vector<Value>;

/// Nothing (None), a tensor, a scalar, a dynamic dimension, a text, or a list.
struct Value
    : std::variant<std::monostate, Node, bool, int64_t, OpenSize, double, std::string, List> {
  using variant::variant;
  Value(int number) : variant(int64_t{number}) {}
  Value(const Size &size) {
    std::visit([this](auto each) { *this = each; }, size);
  }

  template <class T> const T *as() const { return std::get_if<T>(this); }
  bool isNone() const { return index() == 0; }
};

/// The element type and the dimensions of a result, as PyTorch has them.
struct ResultType {
  DType type;
  Sizes sizes;
  bool isUsed = true;
};

} // namespace headrace::aten
