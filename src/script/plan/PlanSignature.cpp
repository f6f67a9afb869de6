#include "script/plan/PlanSignature.h"

#include <algorithm>
#include <cmath>

namespace headrace::script {

// Beyond this, knowing a size at compile time changes nothing.
static constexpr int64_t kSmallSize = 256;

Size SignatureState::sizeOf(int64_t value, Position &position, PlanSignature &signature) {
  position.general |= policy == SizePolicy::Open;
  if (value >= 2 && value <= kSmallSize && !position.general) {
    position.general = position.seen && *position.seen != value;
    position.seen = value;
  }
  if (value < 2 || (value <= kSmallSize && !position.general)) {
    signature.code.push_back(2 * value);
    return value;
  }
  auto found = std::ranges::find(signature.symbols, value);
  auto index = static_cast<int>(found - signature.symbols.begin());
  if (found == signature.symbols.end())
    signature.symbols.push_back(value);
  signature.code.push_back(2 * index + 1);
  return Size::symbol(index);
}

static std::optional<int64_t> wholeNumber(const Value &value) {
  if (auto *whole = value.as<int64_t>())
    return *whole;
  if (auto *real = value.as<double>();
      real && *real == std::floor(*real) && std::fabs(*real) < 1e15)
    return static_cast<int64_t>(*real);
  return std::nullopt;
}

PlanSignature SignatureState::describe(const Environment &environment) {
  positions.resize(names.size());
  PlanSignature signature;
  for (size_t i = 0; i < names.size(); ++i) {
    Known known;
    auto found = environment.find(names[i]);
    signature.missing.push_back(found == environment.end());
    if (found == environment.end()) {
      signature.code.push_back(-1);
      signature.known.push_back(known);
      continue;
    }
    const Value &value = found->second;
    known.type = value.type();
    signature.code.push_back(static_cast<int64_t>(value.data.index()));
    if (const Matrix *matrix = value.matrix()) {
      const CsrMatrix *sparse = value.sparse();
      known.sparse = sparse;
      known.rows = sizeOf(rowsOf(*matrix), positions[i][0], signature);
      known.cols = sizeOf(colsOf(*matrix), positions[i][1], signature);
      signature.code.push_back(known.sparse);
      known.density = 1;
      if (sparse) {
        known.nonzeros = sizeOf(sparse->nonzeros(), positions[i][2], signature);
        known.density = static_cast<double>(sparse->nonzeros()) /
                        static_cast<double>(std::max<int64_t>(sparse->cells(), 1));
      }
    } else if (sizeScalars.contains(names[i])) {
      auto whole = wholeNumber(value);
      signature.code.push_back(whole.has_value());
      if (whole)
        known.value = *whole < 0 ? Size() : sizeOf(*whole, positions[i][0], signature);
    }
    signature.known.push_back(std::move(known));
  }
  return signature;
}

} // namespace headrace::script
