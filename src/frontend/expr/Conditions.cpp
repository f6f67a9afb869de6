#include "frontend/expr/Conditions.h"

using namespace mlir;

namespace headrace::expr {

/// The comparison that holds if this one does not.
static Op opposite(Op op) {
  switch (op) {
  case Op::Less:
    return Op::GreaterEqual;
  case Op::LessEqual:
    return Op::Greater;
  case Op::Greater:
    return Op::LessEqual;
  case Op::GreaterEqual:
    return Op::Less;
  case Op::Equal:
    return Op::NotEqual;
  default:
    return Op::Equal;
  }
}

void Conditions::add(const Expr &condition, const Domain &domain, bool holds) {
  Op op = condition.op();
  const std::vector<Expr> &operands = condition.operands();
  if (op == Op::Number)
    return;
  if (op == Op::Not)
    return add(operands[0], domain, !holds);
  if (op == (holds ? Op::And : Op::Or)) {
    add(operands[0], domain, holds);
    return add(operands[1], domain, holds);
  }
  bool compares = op >= Op::Less && op <= Op::NotEqual;
  auto first = compares ? domain.linear(operands[0]) : std::nullopt;
  auto second = compares ? domain.linear(operands[1]) : std::nullopt;
  if (!first || !second) {
    unknown = true;
    return;
  }
  LinearIndex more = first->plus(*second, -1), less = second->plus(*first, -1);
  auto strictly = [](LinearIndex index) {
    index.offset = index.offset - 1;
    return index;
  };
  switch (holds ? op : opposite(op)) {
  case Op::Less:
    return addNonNegative(strictly(less));
  case Op::LessEqual:
    return addNonNegative(less);
  case Op::Greater:
    return addNonNegative(strictly(more));
  case Op::GreaterEqual:
    return addNonNegative(more);
  case Op::Equal:
    addNonNegative(more);
    return addNonNegative(less);
  default: // that two are different says nothing of their order
    unknown = true;
  }
}

bool Conditions::follow(const Conditions &others, const Domain &domain) const {
  return !unknown &&
         llvm::all_of(facts, [&](const LinearIndex &fact) { return others.prove(fact, domain); });
}

bool Conditions::prove(const LinearIndex &index, const Domain &domain) const {
  auto isNonNegative = [&](const LinearIndex &candidate) {
    return domain.isNonNegative(domain.range(candidate).low, /*hasPoint=*/true);
  };
  if (isNonNegative(index))
    return true;
  // The index is one fact, or the sum of two, and something that is not negative.
  for (auto [i, fact] : llvm::enumerate(facts)) {
    LinearIndex rest = index.plus(fact, -1);
    if (isNonNegative(rest))
      return true;
    for (const LinearIndex &other : ArrayRef(facts).take_front(i))
      if (isNonNegative(rest.plus(other, -1)))
        return true;
  }
  return false;
}

} // namespace headrace::expr
