// Path conditions of a point in an expression: facts that hold wherever it is evaluated.
#pragma once

#include "frontend/expr/Domain.h"

namespace headrace::expr {

class Conditions {
public:
  /// Adds that the condition holds, or with `holds` false that it does not.
  void add(const Expr &condition, const Domain &domain, bool holds);

  /// Adds that the index is 0 or more.
  void addNonNegative(const LinearIndex &index) { facts.push_back(index); }

  /// Whether the index is 0 or more wherever the conditions hold.
  bool prove(const LinearIndex &index, const Domain &domain) const;
  bool isEmpty() const { return facts.empty() && !unknown; }
  /// Whether a condition was added that says more than `prove` understands.
  bool isPartlyUnknown() const { return unknown; }

  /// Whether these conditions hold wherever the others do.
  bool follow(const Conditions &others, const Domain &domain) const;

private:
  llvm::SmallVector<LinearIndex, 4> facts; // each is 0 or more
  bool unknown = false;
};

} // namespace headrace::expr
