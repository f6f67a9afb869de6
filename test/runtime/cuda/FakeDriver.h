// A driver without a device: the functions of libcuda.so.1 that are used, over the host's memory.
// Streams do their work at once, or record it; device functions are functions of the host.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace headrace::test {

/// The fake's state that a test can see and change; the library exports one as `fakeDriver`.
struct FakeDriver {
  std::map<std::string, int> calls;    // by the driver's names
  std::map<std::string, int> failures; // the error that the next call of a function returns
  int version = 12040;
  int devices = 1;
  int64_t memoryLimit = int64_t{1} << 40;
  int64_t memoryUsed = 0;
  int liveStreams = 0, liveEvents = 0, liveGraphs = 0, liveModules = 0, liveHostMemory = 0;
};

} // namespace headrace::test
