// The memory next to the chip: buffers of a program, which of them may be written, and which bytes
// have a value yet.
#pragma once

#include "runtime/vta/Program.h"

namespace headrace::vta {

/// The DRAM of a program while it runs: its bytes, and which of them have a value.
class Dram {
public:
  explicit Dram(const Program &program);

  /// Throws Fault, of `what`, if the bytes are not all of one buffer or may not be written.
  void check(uint64_t offset, uint64_t bytes, bool writes, size_t instruction,
             const std::string &what) const;

  std::vector<std::byte> bytes;
  /// Bytes in a granule: nothing smaller is moved.
  size_t granule;
  std::vector<bool> valid; ///< for each granule

private:
  struct Region {
    uint64_t offset, bytes;
    std::string name;
    bool writable;
  };
  std::vector<Region> regions; ///< by their offset
};

} // namespace headrace::vta
