// The speeds of an H200, as this target's kernels reach them.
#pragma once

#include "analysis/Machine.h"

namespace headrace::cuda {

/// Measured on an H200: a copy moves 4 TB/s, products reach 50 Tflop/s in f32 and 750 in halves on
/// 132 multiprocessors. Other devices have about as much for each of theirs.
inline Rates deviceRates(const std::string &architecture, int64_t multiprocessors) {
  constexpr double measuredOn = 132;
  auto speeds = [](double product, double simple) {
    return Rates::Speeds{product / measuredOn,    simple / measuredOn,      simple / measuredOn,
                         simple / 8 / measuredOn, simple / 16 / measuredOn, simple / measuredOn};
  };
  double bandwidth = 4000 * static_cast<double>(multiprocessors) / measuredOn;
  Rates rates;
  rates.machine = architecture;
  rates.threads = static_cast<int>(multiprocessors);
  rates.memory = {{1, bandwidth, bandwidth}};
  rates.nearCacheBytes = 228 << 10;
  rates.coreCacheBytes = 228 << 10;
  rates.f32 = speeds(50e3, 25e3);
  rates.f64 = speeds(30e3, 15e3);
  rates.narrow = speeds(750e3, 25e3);
  rates.kernelCall = 0;
  rates.sharing = 0;
  rates.libraryCall = 2;
  return rates;
}

/// Over PCIe, from memory that is not pinned.
inline CopyRates copyRates() { return {.startMicroseconds = 10, .bytesPerMicrosecond = 12'000}; }

} // namespace headrace::cuda
