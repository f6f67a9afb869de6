#include "frontend/expr/Accesses.h"

#include "dialect/SizeAlgebra.h"
#include "runtime/system/Error.h"

#include "llvm/ADT/MapVector.h"

#include <set>

using namespace mlir;

namespace headrace::expr {

namespace {

/// More would be a copy of mostly nothing.
constexpr int64_t kMaxPadding = 256;
/// Expressions share their parts; walked under every condition, they can be endless.
constexpr size_t kMaxVisits = 200000;

/// A linear index into one dimension of a tensor, and how far it leaves it.
struct DimIndex {
  LinearIndex index;
  AffineExpr size;
  int64_t below = 0, above = 0;
};

class AccessFinder {
public:
  AccessFinder(const Domain &domain, SizeTable &sizes, const Symbols &symbols,
               const std::string &subject)
      : domain(domain), sizes(sizes), symbols(symbols), subject(subject) {}

  Accesses run(const Expr &value) {
    walk(value, Conditions());
    for (auto &[node, dims] : linear)
      place(node, dims);
    return std::move(accesses);
  }

private:
  void walk(const Expr &expr, const Conditions &conditions) {
    if (++visits > kMaxVisits)
      fail(ErrorKind::Unsupported, "expected a smaller expression; use several stages");
    if (conditions.isEmpty() && !visitedAlways.insert(expr.get()).second)
      return;
    if (expr.op() == Op::Read)
      addRead(expr, conditions);
    if (expr.op() != Op::Select) {
      for (const Expr &operand : expr.operands())
        walk(operand, conditions);
      return;
    }
    const std::vector<Expr> &operands = expr.operands();
    walk(operands[0], conditions);
    Conditions yes = conditions, no = conditions;
    yes.add(operands[0], domain, true);
    no.add(operands[0], domain, false);
    walk(operands[1], yes);
    walk(operands[2], no);
  }

  void addRead(const Expr &read, const Conditions &conditions) {
    SmallVector<DimIndex> dims;
    bool byIndex = false;
    for (auto [i, index] : llvm::enumerate(read.operands())) {
      AffineExpr size = sizes.convert(read->stage->shape[i]);
      auto form = domain.linear(index);
      if (!form) {
        checkRange(read, i, size, conditions);
        byIndex = true;
        continue;
      }
      DimIndex dim{*form, size};
      byIndex |= !measure(read, i, dim, conditions);
      dims.push_back(std::move(dim));
    }
    Access &access = accesses.reads[read.get()];
    access.tensor = read->stage;
    access.byIndex |= byIndex;
    if (access.byIndex) {
      linear.erase(read.get());
      return;
    }
    auto [known, isNew] = linear.try_emplace(read.get(), dims);
    if (!isNew)
      for (auto [old, now] : llvm::zip(known->second, dims)) {
        old.below = std::max(old.below, now.below);
        old.above = std::max(old.above, now.above);
      }
  }

  /// How far the index leaves its dimension; false if that is not a constant, or if it leaves it
  /// only for sizes for which nothing is computed.
  bool measure(const Expr &read, size_t i, DimIndex &dim, const Conditions &conditions) {
    Range range = domain.range(dim.index);
    AffineExpr room = normalized(dim.size - 1 - range.high);
    bool inside = true;
    for (auto [reach, amount] : {std::pair(range.low, &dim.below), std::pair(room, &dim.above)}) {
      if (domain.isNonNegative(reach, /*hasPoint=*/false))
        continue;
      if (domain.isNonNegative(reach, /*hasPoint=*/true)) {
        inside = false;
        continue;
      }
      LinearIndex margin = dim.index;
      if (amount == &dim.above) {
        LinearIndex last;
        last.coefficients.assign(domain.rank(), 0);
        last.offset = dim.size - 1;
        margin = last.plus(dim.index, -1);
      }
      if (!conditions.prove(margin, domain) && !conditions.isPartlyUnknown())
        failRange(read, i,
                  "reads positions " + symbols.text({range.low}) + " to " +
                      symbols.text({range.high}) + " of",
                  dim.size);
      auto leaves = constantValue(reach);
      if (leaves && *leaves >= -kMaxPadding)
        *amount = -*leaves;
      else
        inside = false;
    }
    return inside;
  }

  /// An index that is not linear is brought inside when it is read; still, one that is known to
  /// leave its tensor is a mistake.
  void checkRange(const Expr &read, size_t i, AffineExpr size, const Conditions &conditions) {
    if (conditions.isEmpty() && domain.staysInside(read.operands()[i], size) == false)
      failRange(read, i, "may leave", size);
  }

  void place(const Node *node, ArrayRef<DimIndex> dims) {
    Access &access = accesses.reads[node];
    SmallVector<DimAccess> placed;
    for (const DimIndex &dim : dims) {
      auto result = walked(dim);
      if (!result) {
        access.byIndex = true;
        return;
      }
      placed.push_back(*result);
    }
    access.dims = std::move(placed);
    Padding &padding = accesses.padding[access.tensor.get()];
    padding.low.resize(dims.size(), 0);
    padding.high.resize(dims.size(), 0);
    for (auto [i, dim] : llvm::enumerate(dims)) {
      padding.low[i] = std::max(padding.low[i], dim.below);
      padding.high[i] = std::max(padding.high[i], dim.above);
    }
  }

  /// The part that is walked, before padding; nullopt if dimensions count in both directions.
  std::optional<DimAccess> walked(const DimIndex &dim) const {
    MLIRContext *context = domain.getContext();
    SmallVector<unsigned> dims;
    bool forwards = false, backwards = false;
    for (auto [d, coefficient] : llvm::enumerate(dim.index.coefficients))
      if (coefficient != 0) {
        dims.push_back(d);
        (coefficient > 0 ? forwards : backwards) = true;
      }
    if (forwards && backwards)
      return std::nullopt;
    if (dims.empty())
      return DimAccess{constantDim(0, context), dim.index.offset, constantDim(1, context), 1};
    if (dims.size() == 1)
      return DimAccess{getAffineDimExpr(dims[0], context), dim.index.offset,
                       domain.getSizes()[dims[0]], dim.index.coefficients[dims[0]]};
    AffineExpr map = constantDim(0, context);
    for (unsigned d : dims)
      map = map + getAffineDimExpr(d, context) * std::abs(dim.index.coefficients[d]);
    Range range = domain.range(dim.index);
    return DimAccess{map, backwards ? range.high : range.low,
                     normalized(range.high - range.low + 1), backwards ? -1 : 1};
  }

  [[noreturn]] void failRange(const Expr &read, size_t i, const std::string &what,
                              AffineExpr size) const {
    fail(ErrorKind::InvalidArgument,
         read.text() + " " + what + " dimension " + std::to_string(i) +
             ": expected positions 0 to " + symbols.text({normalized(size - 1)}) +
             ", or a condition around it (hr.select) that keeps it there");
  }

  [[noreturn]] void fail(ErrorKind kind, const std::string &message) const {
    throw Error(kind, subject + ": " + message);
  }

  const Domain &domain;
  SizeTable &sizes;
  const Symbols &symbols;
  const std::string &subject;
  Accesses accesses;
  llvm::MapVector<const Node *, SmallVector<DimIndex>> linear; // in the order of the reads
  std::set<const Node *> visitedAlways;
  size_t visits = 0;
};

} // namespace

Accesses findAccesses(const Expr &value, const Domain &domain, SizeTable &sizes,
                      const Symbols &symbols, const std::string &subject) {
  return AccessFinder(domain, sizes, symbols, subject).run(value);
}

} // namespace headrace::expr
