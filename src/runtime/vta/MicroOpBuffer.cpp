#include "runtime/vta/MicroOpBuffer.h"

namespace headrace::vta {

MicroOpBuffer::Place MicroOpBuffer::place(const std::vector<uint32_t> &body) {
  if (auto found = resident.find(body); found != resident.end())
    return {found->second, {}};
  if (next + body.size() > depth)
    next = 0;
  // Evicts every sequence that overlaps the place: those that begin in it, and one that began
  // before.
  auto at = bySram.lower_bound(next);
  if (at != bySram.begin() && std::prev(at)->first + std::prev(at)->second->size() > next)
    --at;
  while (at != bySram.end() && at->first < next + body.size()) {
    resident.erase(resident.find(*at->second));
    at = bySram.erase(at);
  }
  auto [kept, isNew] = inDram.try_emplace(body, microOps.size());
  if (isNew)
    microOps.insert(microOps.end(), body.begin(), body.end());
  size_t sram = next;
  auto placed = resident.emplace(body, sram).first;
  bySram[sram] = &placed->first;
  next += body.size();
  return {sram, kept->second};
}

void MicroOpBuffer::forget() {
  resident.clear();
  bySram.clear();
  next = 0;
}

} // namespace headrace::vta
