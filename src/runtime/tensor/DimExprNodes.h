#pragma once

// The inside of DimExpr, for its own source files.

#include "runtime/tensor/DimExpr.h"

namespace headrace {

struct DimExpr::Atom {
  enum class Kind { Symbol, FloorDiv, Mod, Max, Min };
  Kind kind;
  unsigned symbol = 0;
  DimExpr lhs = {}, rhs = {};
};

struct DimExpr::Term {
  int64_t coefficient;
  std::vector<AtomRef> factors; // in order, at least one
};

struct DimExpr::Sum {
  std::vector<Term> terms; // in order, distinct factors, coefficients not 0
  size_t parts;            // of the whole tree, which bounds every walk over it
};

} // namespace headrace
