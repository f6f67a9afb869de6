#include "frontend/common/Symbols.h"

#include "analysis/cost/NominalSizes.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace {

AffineExpr Symbols::get(const std::string &name) {
  auto found = llvm::find(symbolNames, name);
  size_t position = found - symbolNames.begin();
  if (found == symbolNames.end()) {
    symbolNames.push_back(name);
    least.push_back(0);
    most.push_back(std::numeric_limits<int64_t>::max());
    expectedSizes.push_back(NominalSizes::fromName(name));
  }
  return getAffineSymbolExpr(position, context);
}

void Symbols::expect(const std::string &name, int64_t size) {
  (void)get(name);
  expectedSizes[llvm::find(symbolNames, name) - symbolNames.begin()] = size;
}

bool Symbols::requireNonNegative(AffineExpr expr) {
  if (auto constant = constantValue(normalized(expr)))
    return *constant >= 0;
  auto bound = boundOfNonNegative(expr);
  if (!bound)
    return false;
  int64_t &low = least[bound->symbol], &high = most[bound->symbol];
  (bound->isLeast ? low : high) =
      bound->isLeast ? std::max(low, bound->value) : std::min(high, bound->value);
  return low <= high;
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
