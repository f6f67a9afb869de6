// The hash table of hash-consing: finds a node by its contents. It holds numbers of nodes alone;
// how nodes compare is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::rewrite {

class NodeTable {
public:
  static constexpr uint32_t none = UINT32_MAX;

  /// The node with this hash for which `same` holds, or none.
  template <typename Same> uint32_t find(uint64_t hash, Same same) const {
    if (slots.empty())
      return none;
    for (size_t at = hash & mask();; at = (at + 1) & mask()) {
      const Slot &slot = slots[at];
      if (slot.node == none)
        return none;
      if (slot.node != removed && slot.hash == hash && same(slot.node))
        return slot.node;
    }
  }

  /// The node must not be there yet.
  void insert(uint64_t hash, uint32_t node) {
    if ((used + 1) * 2 > slots.size())
      grow();
    size_t at = hash & mask();
    while (slots[at].node != none)
      at = (at + 1) & mask();
    slots[at] = {hash, node};
    ++used;
    ++live;
  }

  /// Does nothing if the node is not there.
  void erase(uint64_t hash, uint32_t node) {
    if (slots.empty())
      return;
    for (size_t at = hash & mask(); slots[at].node != none; at = (at + 1) & mask())
      if (slots[at].node == node) {
        slots[at].node = removed;
        --live;
        return;
      }
  }

private:
  static constexpr uint32_t removed = UINT32_MAX - 1;
  struct Slot {
    uint64_t hash = 0;
    uint32_t node = none;
  };

  size_t mask() const { return slots.size() - 1; }

  // Also sweeps out what was removed, which still takes room until then.
  void grow() {
    std::vector<Slot> old(live * 4 < 64 ? 64 : powerOfTwo(live * 4));
    old.swap(slots);
    used = live;
    for (const Slot &slot : old) {
      if (slot.node >= removed)
        continue;
      size_t at = slot.hash & mask();
      while (slots[at].node != none)
        at = (at + 1) & mask();
      slots[at] = slot;
    }
  }

  static size_t powerOfTwo(size_t least) {
    size_t size = 64;
    while (size < least)
      size *= 2;
    return size;
  }

  std::vector<Slot> slots;
  size_t used = 0, live = 0;
};

} // namespace headrace::rewrite
