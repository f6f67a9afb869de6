// The speeds of an H200, as this target's kernels reach them.
#pragma once

#include "analysis/Machine.h"

namespace headrace::cuda {

/// Measured on an H200: a copy moves 4 TB/s, products reach 50 Tflop/s in f32 and 750 in halves on
/// 132 multiprocessors. Others have the same ratios, about.
inline Rates deviceRates(const std::string &architecture) {
  constexpr double multiprocessors = 132, bandwidth = 4000;
  auto speeds = [&](double product, double simple) {
    return Rates::Speeds{product / multiprocessors,     simple / multiprocessors,
                         simple / multiprocessors,      simple / 8 / multiprocessors,
                         simple / 16 / multiprocessors, simple / multiprocessors};
  };
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
