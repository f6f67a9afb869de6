// Contents of a memory's slots, so that resident data are not loaded again.
#pragma once

#include "target/vta/schedule/ChipPlan.h"
#include "target/vta/schedule/write/Pipeline.h"

#include <array>
#include <optional>

namespace headrace::vta {

class Resident {
public:
  /// The contents' identity: positions in the loops, and how many follow.
  using Key = std::array<int64_t, 5>;

  explicit Resident(const Slots &slots) : slots(slots), entries(static_cast<size_t>(slots.count)) {}

  struct Place {
    size_t slot;
    int64_t address;
    bool isThere; ///< else it has to be loaded, after `freedBy`
    Pipeline::Action freedBy;
  };
  /// The slot of these contents; if they are in none, the one that was used the longest ago.
  Place find(const Key &key) {
    size_t oldest = 0;
    for (size_t slot = 0; slot < entries.size(); ++slot) {
      if (entries[slot].key == key)
        return {slot, address(slot), true, Pipeline::none};
      if (entries[slot].lastUse < entries[oldest].lastUse)
        oldest = slot;
    }
    entries[oldest].key = key;
    return {oldest, address(oldest), false, entries[oldest].lastUse};
  }
  void usedBy(size_t slot, Pipeline::Action action) { entries[slot].lastUse = action; }

private:
  struct Entry {
    std::optional<Key> key;
    Pipeline::Action lastUse = Pipeline::none;
  };
  int64_t address(size_t slot) const { return slots.place(static_cast<int64_t>(slot)); }

  Slots slots;
  std::vector<Entry> entries;
};

} // namespace headrace::vta
