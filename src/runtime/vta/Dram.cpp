#include "runtime/vta/Dram.h"

#include "runtime/system/Rounding.h"
#include "runtime/system/Text.h"
#include "runtime/vta/Fault.h"

#include <algorithm>
#include <limits>

namespace headrace::vta {

Dram::Dram(const Program &program) : bytes(program.dram) {
  granule = std::numeric_limits<size_t>::max();
  for (int memory = 0; memory < memoryCount; ++memory)
    granule = std::min(granule, program.configuration.elementBytes(static_cast<Memory>(memory)));
  valid.assign(dividedUp(bytes.size(), granule), true);
  regions.push_back({program.microOpOffset, program.microOps.size() * 4, "the micro-ops", false});
  for (const Buffer &buffer : program.buffers) {
    bool writable = buffer.role == Role::Output || buffer.role == Role::Temporary;
    regions.push_back({buffer.offset, buffer.bytes, inQuotes(buffer.name), writable});
  }
  std::erase_if(regions, [](const Region &region) { return region.bytes == 0; });
  std::ranges::sort(regions, {}, &Region::offset);
  for (const Region &region : regions)
    if (region.writable)
      std::fill(valid.begin() + static_cast<ptrdiff_t>(dividedUp(region.offset, granule)),
                valid.begin() + static_cast<ptrdiff_t>((region.offset + region.bytes) / granule),
                false);
}

void Dram::check(uint64_t offset, uint64_t count, bool writes, size_t instruction,
                 const std::string &what) const {
  auto after = std::ranges::upper_bound(regions, offset, {}, &Region::offset);
  bool inside =
      after != regions.begin() && std::prev(after)->offset + std::prev(after)->bytes > offset;
  std::string range = "bytes " + std::to_string(offset) + " to " + std::to_string(offset + count);
  if (!inside)
    throw Fault(FaultKind::OutOfBounds, instruction,
                what + " uses " + range + " of DRAM outside of every buffer");
  const Region &region = *std::prev(after);
  if (offset + count > region.offset + region.bytes)
    throw Fault(FaultKind::OutOfBounds, instruction,
                what + " uses " + range + " of DRAM, beyond the end of " + region.name + " at " +
                    std::to_string(region.offset + region.bytes));
  if (writes && !region.writable)
    throw Fault(FaultKind::WriteProtected, instruction, what + " stores into " + region.name);
}

} // namespace headrace::vta
