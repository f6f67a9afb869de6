#include "script/graph/Size.h"

#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace::script {

// Beyond any matrix; keeps sums of sizes far from overflow.
static constexpr int64_t kMostSize = int64_t(1) << 50;

static bool manageable(int64_t value) { return value <= kMostSize && value >= -kMostSize; }

Size Size::symbol(int index) {
  Size size(0);
  size.sum.push_back({index, 1});
  return size;
}

std::optional<int64_t> Size::constant() const {
  return isKnown && sum.empty() ? std::optional(offset) : std::nullopt;
}

std::optional<int> Size::asSymbol() const {
  bool only = isKnown && offset == 0 && sum.size() == 1 && sum[0].factor == 1;
  return only ? std::optional(sum[0].symbol) : std::nullopt;
}

int64_t Size::evaluate(std::span<const int64_t> symbols) const {
  if (!isKnown)
    throw InternalError("an unknown size has no value");
  int64_t value = offset;
  for (const Term &term : sum)
    value += term.factor * symbols[term.symbol];
  return value;
}

/// a + factor * b
Size Size::combine(const Size &a, const Size &b, int64_t factor) {
  if (!a.isKnown || !b.isKnown || !manageable(factor))
    return {};
  Size result = a;
  auto add = [](int64_t &to, int64_t value, int64_t factor) {
    return !__builtin_mul_overflow(value, factor, &value) &&
           !__builtin_add_overflow(to, value, &to) && manageable(to);
  };
  if (!add(result.offset, b.offset, factor))
    return {};
  for (const Term &term : b.sum) {
    auto at = std::ranges::lower_bound(result.sum, term.symbol, {}, &Term::symbol);
    if (at == result.sum.end() || at->symbol != term.symbol)
      at = result.sum.insert(at, {term.symbol, 0});
    if (!add(at->factor, term.factor, factor))
      return {};
    if (at->factor == 0)
      result.sum.erase(at);
  }
  return result;
}

Size operator+(const Size &a, const Size &b) { return Size::combine(a, b, 1); }
Size operator-(const Size &a, const Size &b) { return Size::combine(a, b, -1); }

Size operator*(const Size &a, const Size &b) {
  if (auto factor = a.constant())
    return Size::combine(Size(0), b, *factor);
  if (auto factor = b.constant())
    return Size::combine(Size(0), a, *factor);
  return {};
}

bool sameSize(const Size &a, const Size &b) {
  return a.isKnown && b.isKnown && a.offset == b.offset && a.sum == b.sum;
}

std::string Size::text() const {
  if (!isKnown)
    return "?";
  std::string result;
  for (const Term &term : sum) {
    if (!result.empty())
      result += term.factor < 0 ? " - " : " + ";
    else if (term.factor < 0)
      result += "-";
    if (std::abs(term.factor) != 1)
      result += std::to_string(std::abs(term.factor)) + "*";
    result += "s" + std::to_string(term.symbol);
  }
  if (result.empty())
    return std::to_string(offset);
  if (offset != 0)
    result += (offset < 0 ? " - " : " + ") + std::to_string(std::abs(offset));
  return result;
}

} // namespace headrace::script
