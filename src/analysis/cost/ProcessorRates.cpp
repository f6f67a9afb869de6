#include "analysis/cost/ProcessorRates.h"

#include "runtime/system/Processor.h"

#include <algorithm>
#include <cpuid.h>
#include <thread>
#include <unistd.h>

namespace headrace {

namespace {

constexpr std::string_view kAmd = "AuthenticAMD", kIntel = "GenuineIntel";

/// Models of a family that share their speeds.
struct FamilySpeeds {
  std::string_view vendor;
  unsigned family, firstModel, lastModel;
  CoreSpeeds speeds;
};

/// AMD's cores add in units beside those that multiply, and divide in more lanes at once.
constexpr CoreSpeeds amd(double gigahertz, int64_t arithmeticBytes, double near, double core,
                         double shared, double memory) {
  return {gigahertz, arithmeticBytes, near, core, shared, memory, 0.8, 0.45, 0.13, 0.035, 1.1};
}

/// Those whose units are half as wide as their vectors: what is not a product loses less by that.
constexpr CoreSpeeds halfWide(double gigahertz, double near, double core, double shared,
                              double memory) {
  return {gigahertz, 32, near, core, shared, memory, 1, 0.67, 0.11, 0.043, 0.9};
}

/// The first row that fits counts. Servers clock lower than desktops of the same models' range;
/// what vectors of 64 bytes do to the clock is in it.
constexpr FamilySpeeds kFamilies[] = {
    // Zen 5: mobile models have half of the vector units.
    {kAmd, 26, 0x20, 0x2f, halfWide(4.5, 60, 30, 16, 30)},
    {kAmd, 26, 0x60, 0x6f, halfWide(4.5, 60, 30, 16, 30)},
    {kAmd, 26, 0, 255, amd(4.4, 64, 125, 40, 23, 38)},
    // Zen 4, then Zen 3.
    {kAmd, 25, 0x10, 0x1f, halfWide(3.6, 60, 30, 22, 28)},
    {kAmd, 25, 0x60, 0x7f, halfWide(4.7, 60, 30, 18, 30)},
    {kAmd, 25, 0xa0, 0xaf, halfWide(3.1, 60, 30, 22, 28)},
    {kAmd, 25, 0, 255, amd(3.5, 32, 48, 26, 16, 18)},
    // Zen 2, then Zen 1.
    {kAmd, 23, 0x30, 0xff, amd(3.3, 32, 48, 24, 14, 16)},
    {kAmd, 23, 0, 0x2f, amd(3.0, 16, 24, 20, 10, 12)},
    // Skylake and Cascade Lake servers; Ice Lake; Sapphire, Emerald and Granite Rapids.
    {kIntel, 6, 85, 85, {2.7, 64, 60, 24, 7, 10}},
    {kIntel, 6, 106, 108, {2.9, 64, 60, 26, 7, 11}},
    {kIntel, 6, 143, 143, {3.0, 64, 60, 28, 7, 12}},
    {kIntel, 6, 173, 174, {3.1, 64, 60, 28, 7, 12}},
    {kIntel, 6, 207, 207, {3.0, 64, 60, 28, 7, 12}},
    // Desktops: Skylake to Comet Lake, Alder to Raptor Lake, Meteor to Arrow Lake.
    {kIntel, 6, 78, 78, {3.4, 32, 48, 24, 12, 16}},
    {kIntel, 6, 94, 94, {3.8, 32, 48, 24, 12, 18}},
    {kIntel, 6, 142, 142, {3.6, 32, 48, 24, 12, 16}},
    {kIntel, 6, 158, 166, {4.2, 32, 48, 24, 12, 18}},
    {kIntel, 6, 151, 154, {4.6, 32, 56, 28, 14, 28}},
    {kIntel, 6, 183, 191, {4.8, 32, 56, 28, 14, 30}},
    {kIntel, 6, 170, 172, {4.6, 32, 56, 28, 14, 30}},
    {kIntel, 6, 197, 198, {5.0, 32, 56, 30, 14, 32}},
    // Haswell and Broadwell.
    {kIntel, 6, 60, 86, {3.0, 32, 40, 20, 10, 11}},
};

/// The processor as `cpuid` tells: "Intel(R) Xeon(R) Processor", "GenuineIntel", 6, 207, 2.
struct HostProcessor {
  std::string brand, vendor;
  unsigned family = 0, model = 0, stepping = 0;

  HostProcessor() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    for (unsigned leaf = 0x80000002; leaf <= 0x80000004; ++leaf)
      if (__get_cpuid(leaf, &a, &b, &c, &d))
        for (unsigned word : {a, b, c, d})
          append(brand, word);
    brand.erase(0, brand.find_first_not_of(' '));
    brand.erase(brand.find_last_not_of(' ') + 1);
    if (__get_cpuid(0, &a, &b, &c, &d))
      for (unsigned word : {b, d, c})
        append(vendor, word);
    if (!__get_cpuid(1, &a, &b, &c, &d))
      return;
    family = (a >> 8 & 15) + (a >> 20 & 255);
    model = (a >> 4 & 15) | (a >> 12 & 240);
    stepping = a & 15;
  }

  /// "Intel(R) Xeon(R) Processor, 6-207-2"
  std::string name() const {
    if (family == 0)
      return brand;
    return brand + ", " + std::to_string(family) + "-" + std::to_string(model) + "-" +
           std::to_string(stepping);
  }

private:
  static void append(std::string &text, unsigned word) {
    for (int byte = 0; byte < 4; ++byte)
      if (char letter = static_cast<char>(word >> (8 * byte)); letter >= ' ' && letter <= '~')
        text += letter;
  }
};

} // namespace

CoreSpeeds speedsOfFamily(std::string_view vendor, unsigned family, unsigned model) {
  for (const FamilySpeeds &row : kFamilies)
    if (row.vendor == vendor && row.family == family && row.firstModel <= model &&
        model <= row.lastModel)
      return row.speeds;
  return {};
}

ProcessorDescription describeHost() {
  std::span<const std::string_view> levels = processorLevels();
  auto level = std::ranges::find(levels, hostLevel());
  HostProcessor host;
  ProcessorDescription processor;
  processor.name = host.name();
  processor.speeds = speedsOfFamily(host.vendor, host.family, host.model);
  processor.vectorBytes = level == levels.end() ? 16 : int64_t{16} << (level - levels.begin());
  processor.pairsBf16 = hostHas("avx512bf16");
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
  // Two multiply-adds of a vector per cycle; everything else as measured shares of that, on
  // processors with vectors of 32 and of 64 bytes.
  const CoreSpeeds &core = processor.speeds;
  auto speeds = [&](double lanes) {
    double product = 4 * lanes * core.gigahertz;
    Rates::Speeds all{};
    auto set = [&](OperationKind kind, double speed) {
      all[static_cast<size_t>(kind)] = rounded(speed);
    };
    set(OperationKind::Product, product);
    set(OperationKind::Window, core.window * product);
    set(OperationKind::Simple, core.simple * product);
    set(OperationKind::Division, core.division * product);
    set(OperationKind::Elementary, core.elementary * product);
    set(OperationKind::Scalar, core.scalar * core.gigahertz);
    return all;
  };
  auto vector = static_cast<double>(std::min(processor.vectorBytes, core.arithmeticBytes));
  Rates rates;
  rates.machine = processor.name;
  rates.threads = processor.threads;
  rates.nearCacheBytes = processor.nearBytes;
  rates.coreCacheBytes = processor.coreBytes;
  rates.unitBytes = vector;
  rates.f32 = rates.narrow = speeds(vector / 4);
  if (processor.pairsBf16)
    rates.narrow[static_cast<size_t>(OperationKind::Product)] *= 2;
  rates.f64 = speeds(vector / 8);
  // Cores have their own caches; about three of them use up what the memory gives.
  double cores = processor.threads, shared = std::min(cores, 3.0);
  // A cache for all cores of a large CPU is others' too, if this machine has a few.
  constexpr double maxOfThread = 16 << 20;
  double sharedBytes = std::min(processor.sharedBytes, cores * maxOfThread);
  auto level = [&](double bytes, double speed, double sharing) {
    rates.memory.push_back({bytes, rounded(speed), rounded(speed * sharing)});
  };
  level(processor.nearBytes, core.near * core.gigahertz, cores);
  level(processor.coreBytes, core.core * core.gigahertz, cores);
  level(std::max(sharedBytes / 2, 2 * processor.coreBytes), core.shared * core.gigahertz, cores);
  level(std::max(sharedBytes * 2, 4 * processor.coreBytes), core.memory, shared);
  // Products of a library, which packs operands on every call.
  for (auto [side, share] : {std::pair{24.0, 0.55}, {96.0, 0.7}, {384.0, 0.8}, {1024.0, 0.85}}) {
    rates.libraryF32.push_back({side, rounded(share * rates.f32[0])});
    rates.libraryF64.push_back({side, rounded(share * rates.f64[0])});
  }
  return rates;
}

} // namespace headrace
