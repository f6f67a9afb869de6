// The sizes that a version of a program holds for: constants that are compiled in, and symbols. One
// policy decides which is which, for models, for parts of split models and for scripts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace headrace::adaptive {

/// 0 and 1 are always constants (empty loops, broadcasts). A larger size is a constant up to
/// `maxConstant`, until the same place shows another one; from then on the place has a symbol.
/// Beyond `maxConstant` it is a symbol from the start: its loop is long anyway.
struct SizePolicy {
  int64_t maxConstant;

  /// Sizes of 2 and more are symbols: one version serves the most.
  static SizePolicy open() { return {1}; }
  /// Every size is a constant at first, as far as it could decide tiles and unrolling.
  static SizePolicy adaptive() { return {256}; }
};

/// The history of one place that has a size: a dimension of an input, or a number that decides one.
class SizePlace {
public:
  /// Whether a version for this size has the size as a symbol.
  bool isSymbol(int64_t size, const SizePolicy &policy);

private:
  std::optional<int64_t> seen;
  bool isChanging = false;
};

/// The key of a version: whatever its code depends on, as numbers.
class Signature {
public:
  /// Adds a number that the code depends on, and that no size can be mistaken for in this place.
  void add(int64_t number) { code.push_back(number); }
  /// Adds a size: as a constant, or as a symbol that equal sizes share, so that the version holds
  /// for all sizes equal in the same places. Returns the symbol's number; nothing for a constant.
  std::optional<size_t> addSize(int64_t size, SizePlace &place, const SizePolicy &policy);

  /// The values of the symbols.
  const std::vector<int64_t> &symbols() const { return values; }
  const std::vector<int64_t> &key() const { return code; }

private:
  std::vector<int64_t> code, values;
};

/// The sizes that the general version for these is compiled for: 0 and 1 are versions of their own,
/// all others (nothing) one.
std::vector<std::optional<int64_t>> generalSizes(const std::vector<int64_t> &sizes);

} // namespace headrace::adaptive
