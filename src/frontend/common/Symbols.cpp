#include "frontend/common/Symbols.h"

#include "analysis/cost/SizeHints.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace {

AffineExpr Symbols::get(const std::string &name) {
  auto meant = given.find(name);
  SizeRange range = meant == given.end() ? SizeRange() : meant->second;
  if (range.isOneSize()) {
    numbers.insert(name);
    return constantDim(range.least, context);
  }
  auto found = llvm::find(symbolNames, name);
  size_t position = found - symbolNames.begin();
  if (found == symbolNames.end()) {
    symbolNames.push_back(name);
    least.push_back(range.least);
    most.push_back(range.most);
    int64_t expected = SizeHints::fromName(name);
    bool isTooLarge = (expected > 0 ? expected : SizeHints::kDefault) > range.most;
    expectedSizes.push_back(isTooLarge ? range.most : expected);
  }
  return getAffineSymbolExpr(position, context);
}

void Symbols::expect(const std::string &name, int64_t size) {
  if (isa<AffineSymbolExpr>(get(name)))
    expectedSizes[llvm::find(symbolNames, name) - symbolNames.begin()] = size;
}

bool Symbols::requireNonNegative(AffineExpr expr) {
  if (auto constant = constantValue(normalized(expr)))
    return *constant >= 0;
  auto bound = boundOfNonNegative(expr);
  if (!bound) {
    // Every symbol is its least value and something that is not negative.
    SmallVector<AffineExpr> shifted;
    for (auto [i, low] : llvm::enumerate(least))
      shifted.push_back(getAffineSymbolExpr(i, context) + low);
    return headrace::isNonNegative(normalized(expr.replaceSymbols(shifted)));
  }
  int64_t &low = least[bound->symbol], &high = most[bound->symbol];
  if (bound->isLeast ? bound->value > high : bound->value < low)
    return false;
  (bound->isLeast ? low : high) =
      bound->isLeast ? std::max(low, bound->value) : std::min(high, bound->value);
  return true;
}

bool Symbols::isNegative(AffineExpr expr) const {
  if (auto constant = constantValue(normalized(expr)))
    return *constant < 0;
  auto bound = boundOfNonNegative(expr);
  return bound && (bound->isLeast ? bound->value > most[bound->symbol]
                                  : bound->value < least[bound->symbol]);
}

std::optional<bool> Symbols::decideNonNegative(AffineExpr expr) {
  if (isNonNegative(expr))
    return true;
  auto bound = boundOfNonNegative(expr);
  bool isForFew = bound && !bound->isLeast && bound->value < 2;
  if (isNegative(expr) || (isForFew && requireNonNegative(-expr - 1)))
    return false;
  return requireNonNegative(expr) ? std::optional(true) : std::nullopt;
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
