// Data-dependent indices. Accesses proves bounds of an index before the program runs; any other one
// is computed before the stage that reads by it, and checked (`hr.check`).
#pragma once

#include "frontend/expr/Accesses.h"

#include <limits>

namespace headrace::expr {

/// The index of one dimension of a read.
struct DataIndex {
  Expr read;
  size_t dim;
  /// The index where the element is read, `unread` if conditions keep it from being read.
  Expr value;
  bool isGuarded;

  static constexpr int64_t unread = std::numeric_limits<int64_t>::min();
};

/// All of them, in the order in which the expression reads; without those inside other ones.
std::vector<DataIndex> findDataIndices(const Expr &value, const Domain &domain, SizeTable &sizes,
                                       const Accesses &accesses);

} // namespace headrace::expr
