// The reference evaluation of a recurrence, step by step.
#pragma once

#include "dialect/Hr.h"
#include "dialect/reference/Reference.h"

namespace headrace::reference {

/// Evaluates one operator of the body, which may change the operands.
using EvaluateStep =
    llvm::function_ref<Tensor(hr::ComputeOp op, llvm::MutableArrayRef<Tensor> operands)>;

/// The states after each step, with `evaluate` for the operators of the body.
Tensor evaluateRecurrence(hr::RecurOp recur, Tensors inputs, Sizes symbols, EvaluateStep evaluate);

} // namespace headrace::reference
