// The numbers that make one VTA: widths, the shape of its matrix unit, sizes of its memories.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace headrace::vta {

/// A memory on the chip, whose elements an instruction's address counts, with elements of the same
/// size in DRAM. Numbered as instructions have them.
enum class Memory { Uop = 0, Wgt = 1, Inp = 2, Acc = 3, Out = 4, Acc8 = 5 };
constexpr int memoryCount = 6;

/// "UOP", "WGT", "INP", "ACC", "OUT", "ACC_8BIT".
std::string_view nameOf(Memory memory);

/// All sizes are powers of two and stand here as their exponents, as in a configuration file.
/// Results are stored with the width of inputs.
struct Configuration {
  int logInpWidth = 3, logWgtWidth = 3, logAccWidth = 5;                          // bits
  int logBatch = 0, logBlock = 4;                                                 // the matrix unit
  int logUopBuffer = 15, logInpBuffer = 15, logWgtBuffer = 18, logAccBuffer = 17; // bytes

  /// Reads a JSON file, and rejects a machine that cannot be, by the name of what does not fit.
  static Configuration read(const std::filesystem::path &path);
  static Configuration parse(std::string_view json, const std::string &source);
  std::string json() const;

  int batch() const { return 1 << logBatch; }
  int block() const { return 1 << logBlock; }

  /// Bytes of an element of this memory in DRAM; accumulators are narrow there as OUT and ACC_8BIT.
  size_t elementBytes(Memory memory) const { return size_t{1} << logElementBytes(memory); }
  /// Elements that the memory on the chip holds; OUT and ACC_8BIT are views of ACC.
  size_t depth(Memory memory) const { return size_t{1} << logDepth(memory); }
  int logDepth(Memory memory) const;
  int logElementBytes(Memory memory) const;

  /// The largest element: buffers that begin at its multiples can be addressed as any memory.
  size_t alignment() const;
  int64_t macsPerMicroOp() const { return int64_t{1} << (logBatch + 2 * logBlock); }

  bool operator==(const Configuration &) const = default;
};

} // namespace headrace::vta
