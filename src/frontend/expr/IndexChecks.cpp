#include "frontend/expr/IndexChecks.h"

#include "dialect/SizeAlgebra.h"
#include "runtime/system/Error.h"

#include <set>

using namespace mlir;

namespace headrace::expr {

namespace {

/// A bound on the path conditions of an index: the expression that checks it is of that size.
constexpr size_t kMaxWays = 64;

/// Walks the expression and notes under which conditions each index is needed.
class IndexFinder {
public:
  IndexFinder(const Domain &domain, SizeTable &sizes, const Accesses &accesses)
      : domain(domain), sizes(sizes), accesses(accesses) {}

  std::vector<DataIndex> run(const Expr &value) {
    walk(value, {});
    std::vector<DataIndex> result;
    for (const Found &found : list) {
      const Expr &index = found.read.operands()[found.dim];
      bool isGuarded = !found.always;
      Expr wide = cast(index, DType::I64);
      result.push_back(
          {found.read, found.dim,
           isGuarded ? select(any(found.ways), wide, cast(Expr(DataIndex::unread), DType::I64))
                     : index,
           isGuarded});
    }
    return result;
  }

private:
  struct Found {
    Expr read;
    size_t dim;
    bool always = false;
    std::vector<Expr> ways; // conditions, each enough for it to be needed
  };

  void walk(const Expr &expr, const std::vector<Expr> &conditions) {
    if (conditions.empty() && !visitedAlways.insert(expr.get()).second)
      return;
    const std::vector<Expr> &operands = expr.operands();
    if (expr.op() == Op::Select) {
      walk(operands[0], conditions);
      walk(operands[1], with(conditions, operands[0]));
      walk(operands[2], with(conditions, apply(Op::Not, {operands[0]})));
      return;
    }
    bool byIndex = expr.op() == Op::Read && accesses.reads.at(expr.get()).byIndex;
    for (size_t i = 0; i < operands.size(); ++i)
      if (byIndex && !isKnownInside(operands[i], sizes.convert(expr->stage->shape[i])))
        add(expr, i, conditions);
      else
        walk(operands[i], conditions);
  }

  static std::vector<Expr> with(std::vector<Expr> conditions, const Expr &condition) {
    conditions.push_back(condition);
    return conditions;
  }

  void add(const Expr &read, size_t dim, const std::vector<Expr> &conditions) {
    auto [position, isNew] = positions.try_emplace({read.get(), dim}, list.size());
    if (isNew)
      list.push_back({read, dim, false, {}});
    Found &found = list[position->second];
    found.always |= conditions.empty();
    if (!found.always)
      found.ways.push_back(all(conditions));
    if (found.ways.size() > kMaxWays)
      throw Error(ErrorKind::Unsupported,
                  "expected fewer conditions that lead to " + read.text() + "; use several stages");
  }

  /// For all that is known of positions and sizes.
  bool isKnownInside(const Expr &index, AffineExpr size) const {
    auto linear = domain.linear(index);
    if (!linear)
      return domain.staysInside(index, size) == true;
    Range range = domain.range(*linear);
    return domain.isNonNegative(range.low, /*hasPoint=*/true) &&
           domain.isNonNegative(normalized(size - 1 - range.high), /*hasPoint=*/true);
  }

  const Domain &domain;
  SizeTable &sizes;
  const Accesses &accesses;
  std::set<const Node *> visitedAlways;
  std::map<std::pair<const Node *, size_t>, size_t> positions;
  std::vector<Found> list;
};

} // namespace

std::vector<DataIndex> findDataIndices(const Expr &value, const Domain &domain, SizeTable &sizes,
                                       const Accesses &accesses) {
  return IndexFinder(domain, sizes, accesses).run(value);
}

} // namespace headrace::expr
