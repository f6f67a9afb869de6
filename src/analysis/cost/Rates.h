// The speeds of a machine: how fast each level of its memory moves data, how fast it computes, what
// calls cost. Plain data: derived from a description of the CPU (ProcessorRates.h), measured
// (driver/machine/Calibrate.h), or written down by a target.
#pragma once

#include "runtime/tensor/DType.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// Kinds of arithmetic that differ in speed. In vectors, unless the name says otherwise.
enum class OperationKind {
  Product,    // additions and multiplications of a product in register tiles
  Window,     // those of a window over each channel: no operand is used by several results
  Simple,     // additions, comparisons, conversions of element-wise functions
  Division,   // divisions and roots
  Elementary, // exponentials and the like, an exponential being one
  Scalar,     // anything, an element at a time
};
inline constexpr size_t operationKinds = 6;
std::string_view nameOf(OperationKind kind);

struct Rates {
  /// The CPU or device that they are of, as its target names it.
  std::string machine;
  /// Measured here, rather than derived from a description.
  bool measured = false;
  /// Threads that "all" speaks of.
  int threads = 1;

  /// Data that is read and written again and again, by how much of it there is: gigabytes a second
  /// (thousand bytes a microsecond).
  struct Bandwidth {
    double bytes, ofOneThread, ofAllThreads;
  };
  /// Ascending in bytes. The last is memory itself.
  std::vector<Bandwidth> memory;
  /// Capacities of a core's caches: the nearest one, and the last that it has for itself.
  double nearCacheBytes = 32 << 10, coreCacheBytes = 1 << 20;
  /// Bytes that an arithmetic unit takes at a time. Longer vectors take several turns.
  double unitBytes = 64;

  /// Gigaoperations a second of one thread (thousand operations a microsecond), by kind.
  using Speeds = std::array<double, operationKinds>;
  Speeds f32{}, f64{}, narrow{};

  /// Gigaoperations a second of a library's products on one thread, by their smallest side.
  struct LibrarySpeed {
    double side, speed;
  };
  /// Ascending; empty if there is no library.
  std::vector<LibrarySpeed> libraryF32, libraryF64;

  /// Microseconds that a kernel takes to begin, on one thread; what sharing it among threads adds;
  /// and what a library's routine takes.
  double kernelCall = 0.1, sharing = 1, libraryCall = 1;

  /// Bytes per microsecond if `threads` threads iterate over a working set of `workingSet` bytes.
  double bytesPerMicrosecond(double workingSet, int threads = 1) const;
  /// Operations per microsecond of one thread. Types of less than 32 bits are computed as f32,
  /// except by matmuls, for which a machine may have faster instructions.
  double operationsPerMicrosecond(OperationKind kind, DType type) const;
  /// Operations per microsecond of a library's matmul; 0 if it has none for the type.
  double libraryOperationsPerMicrosecond(DType type, double side) const;
};

/// Two significant digits: noise of a measurement does not reach decisions.
double rounded(double value);

} // namespace headrace
