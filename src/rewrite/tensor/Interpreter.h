// The meaning of a term of tensors, operator by operator in double precision, with plain loops.
#pragma once

#include "rewrite/tensor/Operators.h"
#include "rewrite/term/Terms.h"

#include <functional>

namespace headrace::rewrite {

/// The values of `tensor[name, ...]`, by name.
using Inputs = std::map<std::string, Array, std::less<>>;

/// Asked before every operator: its result, if it is to be computed otherwise, as a machine with
/// numbers of its own does.
using OtherMeaning = std::function<std::optional<Array>(
    const Operator &, std::span<const Array *const> operands, const Shape &result)>;

/// Throws Error at an operator whose operands do not fit, an input that is not there or has another
/// shape.
Array evaluate(const Terms &terms, TermId root, const OperatorSet &operators, const Inputs &inputs,
               const OtherMeaning &other = {});

} // namespace headrace::rewrite
