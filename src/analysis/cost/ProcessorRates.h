// The rates of a CPU from its description, if none were measured.
#pragma once

#include "analysis/cost/Rates.h"

namespace headrace {

/// How fast the cores of a family of processors are.
struct CoreSpeeds {
  /// For a core that is busy.
  double gigahertz = 2.5;
  /// Two multiply-adds of this many bytes begin in a cycle; longer vectors take several turns.
  int64_t arithmeticBytes = 64;
  /// Bytes per cycle that a copy reads and writes, out of each cache.
  double near = 40, core = 20, shared = 6;
  /// Gigabytes per second of memory itself, for one thread.
  double memory = 10;
  /// Other kinds of arithmetic, as shares of the operations of multiply-adds.
  double window = 0.25, simple = 0.3, division = 0.05, elementary = 0.025;
  /// Operations per cycle, one element at a time.
  double scalar = 0.6;
};

/// The speeds of a family of processors, by vendor ("AuthenticAMD"), family and model, as `cpuid`
/// has them; those of an unknown processor if there is no such family in the table.
CoreSpeeds speedsOfFamily(std::string_view vendor, unsigned family, unsigned model);

/// Properties of a processor that are known without measuring.
struct ProcessorDescription {
  std::string name;
  int64_t vectorBytes = 32;
  int threads = 4;
  /// Caches: nearest, a core's own, shared by all.
  double nearBytes = 32 << 10, coreBytes = 1 << 20, sharedBytes = 16 << 20;
  CoreSpeeds speeds{};
  /// Whether an instruction multiplies pairs of bf16, as many vectors per cycle as of f32.
  bool pairsBf16 = false;
};

/// This machine's CPU, as far as the system tells.
ProcessorDescription describeHost();

/// Equal descriptions give equal rates, on any machine.
Rates derivedRates(const ProcessorDescription &processor);

} // namespace headrace
