#pragma once

// The nodes of a DimExpr, for its own source files and for conversions into other forms.

#include "runtime/tensor/DimExpr.h"

namespace headrace {

/// A symbol, or an operation that is not a sum or product.
struct DimExpr::Atom {
  enum class Kind { Symbol, FloorDiv, Mod, Max, Min };
  Kind kind;
  unsigned symbol = 0;
  DimExpr lhs = {}, rhs = {};
};

/// A coefficient times a product of atoms.
struct DimExpr::Term {
  int64_t coefficient;
  std::vector<std::shared_ptr<const Atom>> factors; // in order, at least one
};

/// A sum of terms in normal form.
struct DimExpr::Sum {
  std::vector<Term> terms; // in order, distinct factors, coefficients not 0
  size_t parts;            // of the whole tree, which bounds every walk over it
};

inline std::span<const DimExpr::Term> DimExpr::terms() const {
  return sum ? std::span<const Term>(sum->terms) : std::span<const Term>();
}

} // namespace headrace
