#include "dialect/SizeAlgebra.h"

#include "dialect/SymbolicShape.h"
#include "runtime/system/Error.h"
#include "runtime/tensor/DimExprNodes.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace headrace {

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

namespace {
/// Converts what occurs several times once: written out, a shared expression can be of any size.
class FromAffine {
public:
  DimExpr convert(AffineExpr expr) {
    if (auto constant = constantValue(expr))
      return DimExpr::constant(*constant);
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      return DimExpr::symbol(symbol.getPosition());
    if (auto found = known.find(expr); found != known.end())
      return found->second;
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!binary)
      throw InternalError("a size depends on something other than symbols");
    DimExpr result = combine(expr.getKind(), convert(binary.getLHS()), convert(binary.getRHS()));
    known[expr] = result;
    return result;
  }

private:
  static DimExpr combine(AffineExprKind kind, const DimExpr &lhs, const DimExpr &rhs) {
    switch (kind) {
    case AffineExprKind::Add:
      return lhs + rhs;
    case AffineExprKind::Mul:
      return lhs * rhs;
    case AffineExprKind::FloorDiv:
      return lhs.floorDiv(rhs);
    case AffineExprKind::CeilDiv:
      return lhs.ceilDiv(rhs);
    default:
      return lhs.mod(rhs);
    }
  }

  llvm::DenseMap<AffineExpr, DimExpr> known;
};

class ToAffine {
public:
  ToAffine(MLIRContext *context, llvm::function_ref<AffineExpr(unsigned)> symbol)
      : context(context), symbol(symbol) {}

  AffineExpr convert(const DimExpr &size) const {
    AffineExpr sum = constantDim(0, context);
    for (const DimExpr::Term &term : size.terms()) {
      AffineExpr product = constantDim(1, context);
      for (const auto &factor : term.factors)
        product = product * convert(*factor);
      sum = sum + product * term.coefficient;
    }
    return sum + size.constantPart();
  }

private:
  AffineExpr convert(const DimExpr::Atom &atom) const {
    switch (atom.kind) {
    case DimExpr::Atom::Kind::Symbol:
      return symbol(atom.symbol);
    case DimExpr::Atom::Kind::FloorDiv:
      return convert(atom.lhs).floorDiv(convert(atom.rhs));
    case DimExpr::Atom::Kind::Mod:
      return convert(atom.lhs) % convert(atom.rhs);
    default:
      throw InternalError("a maximum or minimum of sizes is not an affine expression");
    }
  }

  MLIRContext *context;
  llvm::function_ref<AffineExpr(unsigned)> symbol;
};
} // namespace

DimExpr toDimExpr(AffineExpr expr) { return FromAffine().convert(expr); }

AffineExpr toAffineExpr(const DimExpr &size, MLIRContext *context,
                        llvm::function_ref<AffineExpr(unsigned)> symbol) {
  return ToAffine(context, symbol).convert(size);
}

AffineExpr toAffineExpr(const DimExpr &size, MLIRContext *context) {
  return toAffineExpr(size, context,
                      [&](unsigned index) { return getAffineSymbolExpr(index, context); });
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// The answer; nullopt if numbers or terms get out of hand on the way to it.
template <class Answer> static auto attempt(Answer answer) -> std::optional<decltype(answer())> {
  try {
    return answer();
  } catch (const Error &) {
    return std::nullopt;
  }
}

AffineExpr normalized(AffineExpr expr) {
  if (!isa<AffineBinaryOpExpr>(expr))
    return expr;
  return attempt([&] { return toAffineExpr(toDimExpr(expr), expr.getContext()); }).value_or(expr);
}

bool sameSize(AffineExpr a, AffineExpr b) {
  if (a == b || (constantValue(a) && constantValue(b)))
    return a == b;
  return attempt([&] { return toDimExpr(a) - toDimExpr(b); }) == DimExpr();
}

std::optional<AffineExpr> exactQuotient(AffineExpr a, AffineExpr b) {
  auto quotient = attempt([&] { return toDimExpr(a).exactQuotient(toDimExpr(b)); });
  if (!quotient || !*quotient)
    return std::nullopt;
  return toAffineExpr(**quotient, a.getContext());
}

bool isNonNegative(AffineExpr expr) {
  return attempt([&] { return toDimExpr(expr).isNonNegative(); }).value_or(false);
}

std::optional<DimExpr::Bound> boundOfNonNegative(AffineExpr expr) {
  return attempt([&] { return toDimExpr(expr).boundOfNonNegative(); }).value_or(std::nullopt);
}

static bool isWithin(AffineExpr expr, int64_t maxAbsolute, int &budget) {
  if (--budget < 0)
    return false;
  if (auto constant = constantValue(expr))
    return *constant <= maxAbsolute && *constant >= -maxAbsolute;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  return !binary || (isWithin(binary.getLHS(), maxAbsolute, budget) &&
                     isWithin(binary.getRHS(), maxAbsolute, budget));
}

bool isManageable(AffineExpr expr, int64_t maxAbsolute) {
  int budget = 256;
  return isWithin(expr, maxAbsolute, budget);
}

} // namespace headrace
