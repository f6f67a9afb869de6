#include "frontend/expr/PaddingConditions.h"

using namespace mlir;

namespace headrace::expr {

namespace {

class Remover {
public:
  Remover(const Domain &domain, SizeTable &sizes, const Accesses &accesses)
      : domain(domain), sizes(sizes), accesses(accesses) {}

  Expr rewrite(const Expr &expr) {
    if (expr.op() == Op::Read || expr.operands().empty())
      return expr;
    auto [known, isNew] = done.try_emplace(expr.get(), expr);
    if (!isNew)
      return known->second;
    Node copy = *expr;
    bool changed = false;
    for (Expr &operand : copy.operands) {
      Expr rewritten = rewrite(operand);
      changed |= rewritten.get() != operand.get();
      operand = rewritten;
    }
    Expr result = isSuperfluous(expr) ? expr.operands()[1]
                  : changed           ? makeNode(std::move(copy))
                                      : expr;
    return done[expr.get()] = result;
  }

private:
  bool isSuperfluous(const Expr &expr) const {
    if (expr.op() != Op::Select || !isZero(expr.operands()[2]))
      return false;
    const Expr &read = expr.operands()[1];
    auto access = accesses.reads.find(read.get());
    if (access == accesses.reads.end() || access->second.byIndex)
      return false;
    Conditions inside, stated;
    for (auto [i, index] : llvm::enumerate(read.operands())) {
      LinearIndex form = *domain.linear(index), last;
      last.coefficients.assign(domain.rank(), 0);
      last.offset = sizes.convert(read->stage->shape[i]) - 1;
      inside.addNonNegative(form);
      inside.addNonNegative(last.plus(form, -1));
    }
    stated.add(expr.operands()[0], domain, /*holds=*/true);
    return stated.follow(inside, domain);
  }

  static bool isZero(const Expr &expr) {
    return expr.op() == Op::Number && expr->integer == 0 && expr->number == 0;
  }

  const Domain &domain;
  SizeTable &sizes;
  const Accesses &accesses;
  std::map<const Node *, Expr> done;
};

} // namespace

Expr withoutPaddingConditions(const Expr &value, const Domain &domain, SizeTable &sizes,
                              const Accesses &accesses) {
  return Remover(domain, sizes, accesses).rewrite(value);
}

} // namespace headrace::expr
