#include "frontend/expr/Domain.h"

#include "dialect/SizeAlgebra.h"
#include "runtime/system/Error.h"

using namespace mlir;

namespace headrace::expr {

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

std::optional<DimExpr> SizeTable::valueOf(const Expr &size) {
  if (size.op() == Op::Number && !isFloat(size.dtype()))
    return DimExpr::constant(size->integer);
  if (size.op() == Op::Size) {
    auto [entry, isNew] = known.try_emplace(size->size->name, size->size.get());
    if (entry->second != size->size.get())
      throw Error(ErrorKind::InvalidArgument, "size '" + size->size->name +
                                                  "': expected one hr.var of this name in a "
                                                  "program, got two");
    AffineExpr symbol = symbols.get(size->size->name);
    if (isNew)
      symbols.requireNonNegative(symbol - size->size->least);
    return toDimExpr(symbol);
  }
  SmallVector<DimExpr> operands;
  for (const Expr &operand : size.operands()) {
    if (!isInteger(operand.dtype()))
      return std::nullopt;
    auto value = valueOf(operand);
    if (!value)
      return std::nullopt;
    operands.push_back(*value);
  }
  switch (size.op()) {
  case Op::Neg:
    return DimExpr() - operands[0];
  case Op::Add:
    return operands[0] + operands[1];
  case Op::Sub:
    return operands[0] - operands[1];
  case Op::Mul:
    return operands[0] * operands[1];
  case Op::FloorDiv:
    if (operands[1].asConstant().value_or(0) > 0)
      return operands[0].floorDiv(operands[1]);
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<AffineExpr> SizeTable::tryConvert(const Expr &size) {
  auto value = valueOf(size);
  return value ? std::optional(toAffineExpr(*value, context)) : std::nullopt;
}

AffineExpr SizeTable::convert(const Expr &size) {
  if (auto converted = tryConvert(size))
    return *converted;
  throw Error(ErrorKind::Unsupported,
              "size " + size.text() + ": expected sums, products and quotients by integers");
}

//===----------------------------------------------------------------------===//
// Linear indices
//===----------------------------------------------------------------------===//

LinearIndex LinearIndex::plus(const LinearIndex &other, int64_t scale) const {
  LinearIndex sum = *this;
  for (auto [mine, theirs] : llvm::zip(sum.coefficients, other.coefficients))
    mine += scale * theirs;
  sum.offset = normalized(sum.offset + other.offset * scale);
  return sum;
}

bool LinearIndex::isConstant() const {
  return llvm::all_of(coefficients, [](int64_t c) { return c == 0; });
}

Domain::Domain(ArrayRef<Axis> axes, size_t reduced, SizeTable &sizeTable, const Symbols &symbols,
               MLIRContext *context)
    : axes(axes), reducedCount(reduced), sizeTable(sizeTable), symbols(symbols), context(context) {
  for (const Axis &axis : axes) {
    sizes.push_back(sizeTable.convert(axis->extent));
    lows.push_back(sizeTable.convert(axis->low));
  }
}

std::optional<unsigned> Domain::find(const AxisInfo *axis) const {
  for (auto [i, candidate] : llvm::enumerate(axes))
    if (candidate.get() == axis)
      return i;
  return std::nullopt;
}

SmallVector<std::string> Domain::axisNames() const {
  SmallVector<std::string> names;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    std::string name = axis->name.empty() ? "d" + std::to_string(i) : axis->name;
    while (llvm::is_contained(names, name))
      name += "'";
    names.push_back(name);
  }
  return names;
}

std::optional<LinearIndex> Domain::linear(const Expr &index) const {
  LinearIndex result;
  result.coefficients.assign(axes.size(), 0);
  result.offset = constantDim(0, context);
  const std::vector<Expr> &operands = index.operands();
  switch (index.op()) {
  case Op::Position: {
    auto dim = find(index->axis.get());
    if (!dim)
      return std::nullopt;
    result.coefficients[*dim] = 1;
    result.offset = lows[*dim];
    return result;
  }
  case Op::Add:
  case Op::Sub:
  case Op::Neg: {
    auto first = linear(operands[0]);
    if (!first || index.op() == Op::Neg)
      return first ? std::optional(result.plus(*first, -1)) : std::nullopt;
    auto second = linear(operands[1]);
    if (!second)
      return std::nullopt;
    return first->plus(*second, index.op() == Op::Add ? 1 : -1);
  }
  case Op::Mul: {
    auto first = linear(operands[0]), second = linear(operands[1]);
    if (!first || !second)
      return std::nullopt;
    if (!second->isConstant())
      std::swap(first, second);
    auto factor = constantValue(second->offset);
    if (second->isConstant() && factor)
      return result.plus(*first, *factor);
    if (!first->isConstant() || !second->isConstant())
      return std::nullopt;
    result.offset = normalized(first->offset * second->offset);
    return result;
  }
  case Op::Cast:
    // Positions and sizes are whole 64-bit numbers already.
    return index.dtype() == DType::I64 ? linear(operands[0]) : std::nullopt;
  default:
    if (auto size = sizeTable.tryConvert(index)) {
      result.offset = *size;
      return result;
    }
    return std::nullopt;
  }
}

Range Domain::range(const LinearIndex &index) const {
  Range result{index.offset, index.offset};
  for (auto [coefficient, size] : llvm::zip(index.coefficients, sizes))
    (coefficient > 0 ? result.high : result.low) =
        (coefficient > 0 ? result.high : result.low) + (size - 1) * coefficient;
  return {normalized(result.low), normalized(result.high)};
}

std::optional<bool> Domain::staysInside(const Expr &index, AffineExpr size) const {
  if (auto form = linear(index)) {
    Range walked = range(*form);
    return isNonNegative(walked.low, /*hasPoint=*/true) &&
           isNonNegative(size - 1 - walked.high, /*hasPoint=*/true);
  }
  if (index.op() != Op::FloorDiv && index.op() != Op::Mod)
    return std::nullopt;
  auto divisor = linear(index.operands()[1]);
  auto value = divisor ? constantValue(divisor->offset) : std::nullopt;
  if (!value || !divisor->isConstant() || *value <= 0)
    return std::nullopt;
  if (index.op() == Op::FloorDiv)
    return staysInside(index.operands()[0], size * *value);
  return isNonNegative(size - *value, /*hasPoint=*/true);
}

bool Domain::isNonNegative(AffineExpr expr, bool hasPoint) const {
  Symbols known = symbols;
  if (hasPoint)
    for (AffineExpr size : sizes)
      // If this cannot be said of one size it says nothing.
      (void)known.requireNonNegative(size - 1);
  // Every symbol is its least value and something that is not negative.
  SmallVector<AffineExpr> shifted;
  for (auto [i, least] : llvm::enumerate(known.minima()))
    shifted.push_back(getAffineSymbolExpr(i, context) + least);
  return headrace::isNonNegative(expr.replaceSymbols(shifted));
}

} // namespace headrace::expr
