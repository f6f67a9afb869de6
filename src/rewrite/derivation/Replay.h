// A derivation done again: each step by its rule, and on numbers.
#pragma once

#include "rewrite/derivation/Derivation.h"
#include "rewrite/tensor/Interpreter.h"
#include "rewrite/tensor/TensorFacts.h"

namespace headrace::rewrite {

/// "mv(w, x) => slice[1, 0, 120](mv(pad[2, 0, 8](w), x))": the operators that the rule speaks of,
/// around names of tensors, and shapes of whatever else its variables stand for.
std::string textOf(const DerivationStep &step, const Terms &terms, const TermShapes &shapes);

/// Random values in [-1, 1] for the tensors of a term.
Inputs randomInputs(const Terms &terms, TermId root, uint64_t seed);

/// Applies the steps one after the other, beginning with `from`. Each rule has to make what the
/// step says, of a part that came up before, and both parts have to have the same values, up to
/// rounding; in the end `to` has to follow. Throws Error at the step that is wrong, by its number;
/// gives the largest difference of values.
double replay(Terms &terms, TermId from, TermId to, std::span<const DerivationStep> steps,
              const Facts &facts, const OperatorSet &operators, const Inputs &inputs);

} // namespace headrace::rewrite
