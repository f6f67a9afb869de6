// The abstract value of a scalar in a map's body: constants, or a function of the integer that a
// chain has, which is the integer itself in some interval and numbers elsewhere. Conditions are
// functions of it, too, so that a clip is one however it is written: by minima, by comparisons and
// selections, with saturation.
#pragma once

#include "target/vta/fixed/Chain.h"
#include "target/vta/fixed/Piecewise.h"

namespace headrace::vta {

/// Constants: one number, or one for each channel.
using Numbers = std::vector<double>;
/// A number, or (nothing) the integer's own.
using Outcome = std::optional<double>;

struct Scalar {
  enum class Kind {
    Numbers,   ///< constants
    Integers,  ///< a function of the chain's integer
    Condition, ///< a condition on it
    Other,     ///< stored integers of another chain
  };
  Kind kind = Kind::Numbers;
  Numbers numbers;

  /// Which integer it is a function of: stages make others of it.
  size_t version = 0;
  std::vector<int> exponents = {0};
  Piecewise<Outcome> outcomes;
  Piecewise<bool> truth;

  /// (integer + offset) * 2^exponents[0], with the stored integers of this chain.
  const Chain *other = nullptr;
  int64_t offset = 0;

  static Scalar constant(Numbers numbers) {
    Scalar scalar;
    scalar.numbers = std::move(numbers);
    return scalar;
  }
  /// Stored integers plus a number. Rejects a chain of anything else.
  static Scalar stored(const Chain &other) {
    std::optional<int64_t> offset = other.offsetOfCells();
    if (!offset)
      throw Unsupported("reads two computed values at once");
    Scalar scalar;
    scalar.kind = Kind::Other;
    scalar.other = &other;
    scalar.offset = *offset;
    scalar.exponents = other.exponents;
    return scalar;
  }

  bool isNumber() const { return kind == Kind::Numbers && numbers.size() == 1; }
};

} // namespace headrace::vta
