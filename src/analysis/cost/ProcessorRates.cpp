#include "analysis/cost/ProcessorRates.h"

#include "runtime/system/Processor.h"

#include <algorithm>
#include <cpuid.h>
#include <thread>
#include <unistd.h>

namespace headrace {

/// "Intel(R) Xeon(R) Processor, 6-207-2": what it calls itself, and its family, model and stepping.
static std::string hostName() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  std::string name;
  for (unsigned leaf = 0x80000002; leaf <= 0x80000004; ++leaf)
    if (__get_cpuid(leaf, &a, &b, &c, &d))
      for (unsigned word : {a, b, c, d})
        for (int byte = 0; byte < 4; ++byte)
          if (char letter = static_cast<char>(word >> (8 * byte)); letter >= ' ' && letter <= '~')
            name += letter;
  name.erase(0, name.find_first_not_of(' '));
  name.erase(name.find_last_not_of(' ') + 1);
  if (!__get_cpuid(1, &a, &b, &c, &d))
    return name;
  unsigned family = (a >> 8 & 15) + (a >> 20 & 255), model = (a >> 4 & 15) | (a >> 12 & 240);
  return name + ", " + std::to_string(family) + "-" + std::to_string(model) + "-" +
         std::to_string(a & 15);
}

ProcessorDescription describeHost() {
  std::span<const std::string_view> levels = processorLevels();
  auto level = std::ranges::find(levels, hostLevel());
  ProcessorDescription processor;
  processor.name = hostName();
  processor.vectorBytes = level == levels.end() ? 16 : int64_t{16} << (level - levels.begin());
  processor.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  auto set = [](double &bytes, int which) {
    if (long found = ::sysconf(which); found > 0)
      bytes = static_cast<double>(found);
  };
  set(processor.nearBytes, _SC_LEVEL1_DCACHE_SIZE);
  set(processor.coreBytes, _SC_LEVEL2_CACHE_SIZE);
  set(processor.sharedBytes, _SC_LEVEL3_CACHE_SIZE);
  processor.coreBytes = std::max(processor.coreBytes, processor.nearBytes);
  processor.sharedBytes = std::max(processor.sharedBytes, processor.coreBytes);
  return processor;
}

Rates derivedRates(const ProcessorDescription &processor) {
  // Two multiply-adds of a vector a cycle; everything else as measured shares of that, on
  // CPUs with vectors of 32 and of 64 bytes.
  constexpr double gigahertz = 2.5;
  auto speeds = [&](double lanes) {
    double product = 4 * lanes * gigahertz;
    Rates::Speeds all{};
    auto set = [&](OperationKind kind, double speed) {
      all[static_cast<size_t>(kind)] = rounded(speed);
    };
    set(OperationKind::Product, product);
    set(OperationKind::Window, product / 4);
    set(OperationKind::Simple, product / 5);
    set(OperationKind::Division, product / 20);
    set(OperationKind::Elementary, product / 40);
    set(OperationKind::Scalar, 1.5);
    return all;
  };
  auto vector = static_cast<double>(processor.vectorBytes);
  Rates rates;
  rates.machine = processor.name;
  rates.threads = processor.threads;
  rates.nearCacheBytes = processor.nearBytes;
  rates.coreCacheBytes = processor.coreBytes;
  rates.f32 = rates.narrow = speeds(vector / 4);
  rates.f64 = speeds(vector / 8);
  // Cores have their own caches; about three of them use up what the memory gives.
  double cores = processor.threads, shared = std::min(cores, 3.0);
  // A cache for all cores of a large CPU is others' too, if this machine has a few.
  constexpr double maxOfThread = 16 << 20;
  double sharedBytes = std::min(processor.sharedBytes, cores * maxOfThread);
  rates.memory = {{processor.nearBytes, 100, 100 * cores},
                  {processor.coreBytes, 50, 50 * cores},
                  {std::max(sharedBytes / 2, 2 * processor.coreBytes), 15, 15 * cores},
                  {std::max(sharedBytes * 2, 4 * processor.coreBytes), 10, 10 * shared}};
  // Products of a library, which packs operands on every call.
  for (auto [side, share] : {std::pair{24.0, 0.55}, {96.0, 0.7}, {384.0, 0.8}, {1024.0, 0.85}}) {
    rates.libraryF32.push_back({side, rounded(share * rates.f32[0])});
    rates.libraryF64.push_back({side, rounded(share * rates.f64[0])});
  }
  return rates;
}

} // namespace headrace
