#include "script/plan/PlanSignature.h"

#include <algorithm>
#include <cmath>

namespace headrace::script {

static std::optional<int64_t> wholeNumber(const Value &value) {
  if (auto *whole = value.as<int64_t>())
    return *whole;
  if (auto *real = value.as<double>();
      real && *real == std::floor(*real) && std::fabs(*real) < 1e15)
    return static_cast<int64_t>(*real);
  return std::nullopt;
}

PlanSignature SignatureState::describe(const Environment &environment) {
  places.resize(names.size());
  PlanSignature plan;
  auto sizeOf = [&](int64_t value, adaptive::SizePlace &place) {
    std::optional<size_t> symbol = plan.signature.addSize(value, place, policy);
    return symbol ? Size::symbol(static_cast<int>(*symbol)) : Size(value);
  };
  for (size_t i = 0; i < names.size(); ++i) {
    Known known;
    auto found = environment.find(names[i]);
    plan.missing.push_back(found == environment.end());
    if (found == environment.end()) {
      plan.signature.add(-1);
      plan.known.push_back(known);
      continue;
    }
    const Value &value = found->second;
    known.type = value.type();
    plan.signature.add(static_cast<int64_t>(value.data.index()));
    if (const Matrix *matrix = value.matrix()) {
      const CsrMatrix *sparse = value.sparse();
      known.sparse = sparse;
      known.rows = sizeOf(rowsOf(*matrix), places[i][0]);
      known.cols = sizeOf(colsOf(*matrix), places[i][1]);
      plan.signature.add(known.sparse);
      known.density = 1;
      if (sparse) {
        known.nonzeros = sizeOf(sparse->nonzeros(), places[i][2]);
        known.density = static_cast<double>(sparse->nonzeros()) /
                        static_cast<double>(std::max<int64_t>(sparse->cells(), 1));
      }
    } else if (sizeScalars.contains(names[i])) {
      auto whole = wholeNumber(value);
      plan.signature.add(whole.has_value());
      if (whole)
        known.value = *whole < 0 ? Size() : sizeOf(*whole, places[i][0]);
    }
    plan.known.push_back(std::move(known));
  }
  return plan;
}

} // namespace headrace::script
