// The one policy for dimensions that are dynamic when a program is compiled: which numbers costs
// are estimated with. Decisions never rely on them for correctness.
#pragma once

#include "runtime/tensor/DimExpr.h"

#include <vector>

namespace headrace {

class SizeHints {
public:
  /// The hint for a dimension about which nothing is known: large enough that sharing work among
  /// threads and staying in cache are considered, since taking a large size for small costs more
  /// than the reverse.
  static constexpr int64_t kDefault = 1024;
  /// The hint for a dimension whose name says that it is a batch.
  static constexpr int64_t kBatch = 8;

  SizeHints() = default;
  /// The value of each symbol that a front end expects; 0 or less, or a missing one: nothing.
  explicit SizeHints(std::vector<int64_t> expected) : expected(std::move(expected)) {}

  /// The value that a size of this name is expected to have; 0 if the name does not tell.
  static int64_t fromName(std::string_view name);

  int64_t of(unsigned symbol) const;
  /// The expression with every symbol at its size hint; `kMax` if that is larger or does
  /// not fit, 0 if it is negative.
  int64_t of(const DimExpr &size) const;
  static constexpr int64_t kMax = int64_t{1} << 40;

private:
  std::vector<int64_t> expected;
};

} // namespace headrace
