// Tensors cut apart and put together along an axis, of numbers or of strings.
#pragma once

#include "runtime/value/RuntimeValue.h"

#include <optional>

namespace headrace::operators {

/// The shape of a tensor of numbers or strings; null for anything else.
const Shape *shapeOf(const RuntimeValue &value);

/// `count` positions along the axis from `start` on, which the tensor must have.
RuntimeValue slice(const RuntimeValue &tensor, int64_t axis, int64_t start, int64_t count);

/// These positions along the axis, in that order.
RuntimeValue take(const RuntimeValue &tensor, int64_t axis, const std::vector<int64_t> &positions);

/// Tensors side by side along an axis; nothing if their types, or sizes elsewhere, differ.
std::optional<RuntimeValue> concatenate(const std::vector<RuntimeValue> &tensors, int64_t axis);

RuntimeValue reshaped(const RuntimeValue &tensor, Shape shape);

/// An axis of size 1 more, or less.
RuntimeValue withAxis(const RuntimeValue &tensor, int64_t axis);
RuntimeValue withoutAxis(const RuntimeValue &tensor, int64_t axis);

/// A scalar, or a list.
Tensor scalarOf(int64_t number);
Tensor scalarOf(bool truth);
Tensor tensorOf(const std::vector<int64_t> &numbers);

} // namespace headrace::operators
