#pragma once

#include <cstdint>
#include <vector>

namespace headrace::explore {

/// The buffer of a stream: its elements and its free slots, each with the time since when it is
/// available.
class SimulatedStream {
public:
  explicit SimulatedStream(int64_t capacity) : writeTimes(capacity), readTimes(capacity) {}

  bool hasRoom() const { return written - taken < static_cast<int64_t>(writeTimes.size()); }
  int64_t roomSince() const { return readTimes[writeSlot]; }
  void write(int64_t time) {
    writeTimes[writeSlot] = time;
    ++written;
    writeSlot = next(writeSlot);
  }

  bool hasElement() const { return taken < written; }
  int64_t elementSince() const { return writeTimes[readSlot]; }
  void read(int64_t time) {
    readTimes[readSlot] = time;
    ++taken;
    readSlot = next(readSlot);
  }

  int64_t elementsRead() const { return taken; }

private:
  size_t next(size_t slot) const { return slot + 1 == writeTimes.size() ? 0 : slot + 1; }

  std::vector<int64_t> writeTimes, readTimes;
  size_t writeSlot = 0, readSlot = 0;
  int64_t written = 0, taken = 0;
};

} // namespace headrace::explore
