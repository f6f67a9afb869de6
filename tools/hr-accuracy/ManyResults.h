// Many results of f32 at once: which of them need a closer look.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headrace::accuracy {

struct ManyResults {
  /// Exact results of a function, to about 2^-48 of their size.
  void (*exact)(const float *x, double *exact, int64_t count);
  /// Writes the places if `got` is further from `exact` than `units` in the last place of f32
  /// (exponents below `smallest` count as that one), or differs in sign, by infinity or by what is
  /// no number; returns how many there are.
  int64_t (*findSuspects)(const float *got, const double *exact, int64_t count, int smallest,
                          double units, int64_t *suspects);
};

/// Nothing if this CPU or its C library computes one at a time.
std::optional<ManyResults> manyResults(std::string_view function);

} // namespace headrace::accuracy
