#include "frontend/common/Symbols.h"

#include "dialect/SizeAlgebra.h"
#include "runtime/system/Text.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace headrace {

AffineExpr Symbols::get(const std::string &name) {
  auto found = llvm::find(symbolNames, name);
  size_t position = found - symbolNames.begin();
  if (found == symbolNames.end()) {
    symbolNames.push_back(name);
    least.push_back(0);
    most.push_back(std::numeric_limits<int64_t>::max());
  }
  return getAffineSymbolExpr(position, context);
}

namespace {
/// scale * core + offset, where the core is neither a sum nor a multiple.
struct LinearSize {
  AffineExpr core;
  int64_t scale = 1, offset = 0;
};
} // namespace

static std::optional<LinearSize> linear(AffineExpr expr) {
  bool isSum = expr.getKind() == AffineExprKind::Add;
  if (!isSum && expr.getKind() != AffineExprKind::Mul)
    return LinearSize{expr};
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto constant = constantValue(binary.getRHS());
  auto inner = constant ? linear(binary.getLHS()) : std::nullopt;
  if (!inner)
    return std::nullopt;
  if (isSum)
    inner->offset += *constant;
  else
    *inner = {inner->core, inner->scale * *constant, inner->offset * *constant};
  return inner;
}

bool Symbols::requireNonNegative(AffineExpr expr) {
  expr = normalized(expr);
  if (auto constant = constantValue(expr))
    return *constant >= 0;
  auto size = linear(expr);
  if (!size || size->scale == 0)
    return false;
  // The core is at least, or at most, this.
  bool isLeast = size->scale > 0;
  int64_t bound = isLeast ? llvm::divideCeilSigned(-size->offset, size->scale)
                          : llvm::divideFloorSigned(size->offset, -size->scale);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(size->core)) {
    int64_t &low = least[symbol.getPosition()], &high = most[symbol.getPosition()];
    (isLeast ? low : high) = isLeast ? std::max(low, bound) : std::min(high, bound);
    return low <= high;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(size->core);
  auto divisor = binary ? constantValue(binary.getRHS()) : std::nullopt;
  if (!divisor || *divisor <= 0 || size->core.getKind() != AffineExprKind::FloorDiv)
    return false;
  // e floordiv d >= b is e >= d * b; e floordiv d <= b is e <= d * b + d - 1.
  AffineExpr inner = binary.getLHS();
  return requireNonNegative(isLeast ? inner - *divisor * bound
                                    : *divisor * bound + (*divisor - 1) - inner);
}

bool Symbols::hasRanges() const {
  return llvm::any_of(least, [](int64_t value) { return value > 0; }) ||
         llvm::any_of(most, [](int64_t value) { return value < INT64_MAX; });
}

std::string Symbols::text(ArrayRef<AffineExpr> dims) const {
  if (dims.empty())
    return "scalar";
  std::vector<std::string> shown;
  for (const std::string &name : symbolNames)
    shown.push_back(escaped(name));
  std::string result;
  for (AffineExpr dim : dims) {
    if (!result.empty())
      result += " x ";
    result += toDimExpr(dim).str(shown);
  }
  return result;
}

} // namespace headrace
