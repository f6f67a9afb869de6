// Versions of a program that were compiled for different sizes, the least recently used going
// first.
#pragma once

#include "package/Contents.h"
#include "runtime/program/Executable.h"
#include "runtime/system/ForkSafety.h"

#include <list>
#include <mutex>

namespace headrace {

/// A version, and how long it took to compile it.
struct CompiledVersion {
  std::shared_ptr<const Executable> executable;
  double microseconds = 0;
};

/// Safe from any thread.
class PlanCache {
public:
  /// One without executable where there is none.
  CompiledVersion find(const Sizes &key) {
    std::lock_guard lock(mutex);
    for (auto it = versions.begin(); it != versions.end(); ++it)
      if (it->first == key) {
        versions.splice(versions.begin(), versions, it);
        return it->second;
      }
    return {};
  }

  void keep(const Sizes &key, const CompiledVersion &version, size_t most) {
    decltype(versions) dropped; // outside the lock
    std::lock_guard lock(mutex);
    versions.emplace_front(key, version);
    while (versions.size() > most)
      dropped.splice(dropped.begin(), versions, std::prev(versions.end()));
  }

  size_t size() const {
    std::lock_guard lock(mutex);
    return versions.size();
  }

private:
  /// Most recently used first.
  std::list<std::pair<Sizes, CompiledVersion>> versions;
  mutable ForkSafeMutex mutex;
};

} // namespace headrace
