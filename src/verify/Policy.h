// The numeric policy: when a computed result agrees with the reference. It is stated here only; the
// command line, Python and the tests ask it.
//
// Against the exact result, the root mean square (RMS) of the errors is at most three times that of
// an evaluation in f32 (the declared types), or one unit in the last place of the
// result's own RMS. Errors are judged by the size of the whole result, never element by element
// relative to the element. Results of which no evaluation rounds anything must be equal.
#pragma once

#include "runtime/tensor/Tensor.h"

#include <span>
#include <string>
#include <vector>

namespace headrace::verify {

/// Whether results agree, and by how much they differ.
struct Judgement {
  bool holds = true;
  /// A type or shape that differs, or elements that are not finite in one of them; empty otherwise.
  std::string fault;
  int64_t elements = 0;
  /// Root mean squares: of the exact result, of the errors, of the errors of the evaluation with
  /// rounding that has the largest; and what is allowed.
  double scale = 0, error = 0, rounded = 0, allowed = 0;
  /// Elements where rounding explains any difference, because the program is steep there: next to a
  /// discontinuity, for example. They are not part of `error`.
  int64_t steep = 0;
  /// The element with the largest error.
  Shape place;
  double found = 0, exact = 0;
};

/// Judges a result. `exact` has floats in f64; so have the evaluations with rounding, `rounded` and
/// `disturbed`. The latter have larger errors than their types make and only show where the program
/// is steep.
Judgement judge(const Tensor &found, const Tensor &exact, std::span<const Tensor> rounded,
                std::span<const Tensor> disturbed = {});

/// "error 3.1e-08, allowed 1.2e-07 (values up to 0.41; rounding to float32 alone: 4e-08)", and
/// what differs if it does.
std::string text(const Judgement &judgement);

} // namespace headrace::verify
