// The search for a function's largest error among results that come one by one.
#pragma once

#include "runtime/tensor/DType.h"

#include "Functions.h"
#include "Units.h"
#include <cstdio>
#include <string>

namespace headrace::accuracy {

struct Worst {
  double units = 0;
  std::string at; // argument, result, exact result
};

inline Format formatOf(DType type) {
  switch (type) {
  case DType::F16:
    return kF16;
  case DType::BF16:
    return kBf16;
  case DType::F32:
    return kF32;
  default:
    return kF64;
  }
}

/// f16 is computed in f32, where nothing overflows that matters to it.
inline int smallestOf(const Format &format, Smallest smallest) {
  if (smallest == Smallest::One)
    return 0;
  return smallest == Smallest::Tiny && format.least < kF16.least ? format.least * 3 / 4
                                                                 : format.least;
}

template <class Exact> class Search {
public:
  Search(DType type, Smallest least)
      : format(formatOf(type)), smallest(smallestOf(format, least)), isSingle(type == DType::F32) {}

  template <class... Arguments> void add(Exact got, Exact exact, Arguments... arguments) {
    // Nearly all results of f32 are the nearest number; that is seen faster than units are counted.
    if (auto nearest = static_cast<float>(exact);
        isSingle && nearest == static_cast<float>(got) && nearest != 0 && std::isfinite(nearest)) {
      if (got != exact)
        worst.units = std::max(worst.units, 0.5);
      return;
    }
    double units = unitsBetween(got, exact, format, smallest);
    if (!(units > worst.units))
      return;
    worst.units = units;
    char text[200], *end = text;
    ((end += std::snprintf(end, 40, "%.17g ", static_cast<double>(arguments))), ...);
    std::snprintf(end, 80, "-> %.17g, exact %.17g", static_cast<double>(got),
                  static_cast<double>(exact));
    worst.at = text;
  }

  Worst worst;

private:
  Format format;
  int smallest;
  bool isSingle;
};

} // namespace headrace::accuracy
