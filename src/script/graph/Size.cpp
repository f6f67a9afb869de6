#include "script/graph/Size.h"

#include "runtime/system/Error.h"

#include <functional>

namespace headrace::script {

// Beyond any matrix; keeps sums of sizes far from overflow.
static constexpr int64_t kMaxSize = int64_t(1) << 50;

Size Size::symbol(int index) {
  Size size;
  size.expr = DimExpr::symbol(static_cast<unsigned>(index));
  return size;
}

const DimExpr &Size::value() const {
  if (!expr)
    throw InternalError("an unknown size has no value");
  return *expr;
}

template <class Function> Size Size::combine(const Size &a, const Size &b, Function function) {
  Size result;
  if (!a.expr || !b.expr)
    return result;
  try {
    result.expr = function(*a.expr, *b.expr);
  } catch (const Error &) { // it overflows, or is a sum of thousands of sizes
    return {};
  }
  return result.expr->hasCoefficientsWithin(kMaxSize) ? result : Size();
}

Size operator+(const Size &a, const Size &b) { return Size::combine(a, b, std::plus<DimExpr>()); }
Size operator-(const Size &a, const Size &b) { return Size::combine(a, b, std::minus<DimExpr>()); }

Size operator*(const Size &a, const Size &b) {
  bool isLinear = a.constant() || b.constant();
  return isLinear ? Size::combine(a, b, std::multiplies<DimExpr>()) : Size();
}

bool sameSize(const Size &a, const Size &b) { return a.expr && b.expr && *a.expr == *b.expr; }

} // namespace headrace::script
