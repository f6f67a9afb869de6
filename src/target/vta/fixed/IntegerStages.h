// Requantization as stages: the integers of a chain while a map's body is read. Sums, scales,
// roundings and clips of them become stages of the accelerator's ALU; powers of two become none,
// until something is rounded.
//
// A stage makes other integers of them, and those from before are gone: scalars carry a version.
#pragma once

#include "target/vta/fixed/Scalar.h"

namespace headrace::vta {

class IntegerStages {
public:
  explicit IntegerStages(Chain chain) : chain(std::move(chain)) {}

  /// The integers as they are now, times powers of two.
  Scalar current(std::vector<int> exponents) const;
  size_t version() const { return latest; }
  void requireCurrent(const Scalar &scalar) const;
  const Range &range() const { return chain.range; }
  const std::vector<int> &exponents() const { return chain.exponents; }

  /// The program's operators that compute what stages read belong to the chain, too.
  void offloadOperators(const Chain &other) {
    chain.operators.insert(other.operators.begin(), other.operators.end());
  }
  /// Notes that the program computes them in this type.
  void computeIn(mlir::Type type) { chain.computeIn(type); }

  // The following take functions of the integers and throw Unsupported.

  Scalar add(Scalar scalar, const Numbers &numbers, mlir::Type type);
  /// `other`: stored integers of another chain.
  Scalar add(Scalar scalar, const Scalar &other, mlir::Type type);
  /// Stored integers of another chain are scaled, too, by powers of two alone.
  Scalar scale(Scalar scalar, const Numbers &numbers, bool divides, mlir::Type type);
  /// How values that are not integers are rounded.
  enum class Rounding { NearestEven, Down };
  Scalar toInteger(Scalar scalar, Rounding rounding);
  /// The integers that numbers are without what follows their point, without a scale.
  Scalar truncate(Scalar scalar);
  /// The integer, whatever its scale, divided by 2^bits rounding down.
  Scalar shiftRight(Scalar scalar, int bits);

  /// The chain whose numbers are the scalar.
  Chain endingIn(Scalar result) &&;

private:
  /// A stage was added.
  Scalar changed(std::vector<int> exponents);
  /// Leaves the integer alone as its function: what is a clip becomes stages.
  void resolve(Scalar &scalar);
  /// One scale for all channels, the finest.
  void align(Scalar &scalar);

  Chain chain;
  size_t latest = 0;
};

/// The integer that a number is in units of the scalar's; thresholds are the same for every channel
/// only if scales are, or the number is 0.
double inUnits(double number, const Scalar &scalar);

} // namespace headrace::vta
