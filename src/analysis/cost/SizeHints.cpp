#include "analysis/cost/SizeHints.h"

#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace {

int64_t SizeHints::fromName(std::string_view name) {
  return name == "N" || name.find("batch") != std::string_view::npos ? kBatch : 0;
}

int64_t SizeHints::of(unsigned symbol) const {
  return symbol < expected.size() && expected[symbol] > 0 ? std::min(expected[symbol], kMax)
                                                          : kDefault;
}

int64_t SizeHints::of(const DimExpr &size) const {
  if (std::optional<int64_t> constant = size.asConstant())
    return std::clamp<int64_t>(*constant, 0, kMax);
  std::vector<unsigned> symbols = size.symbols();
  std::vector<int64_t> values(symbols.empty() ? 0 : symbols.back() + 1);
  for (unsigned symbol : symbols)
    values[symbol] = of(symbol);
  try {
    return std::clamp<int64_t>(size.evaluate(values), 0, kMax);
  } catch (const Error &) {
    return kMax;
  }
}

} // namespace headrace
