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

/// The sizes of an import that are fixed, others being open (Imports.h).
struct VersionKey {
  size_t import = 0;
  Sizes sizes;

  friend bool operator==(const VersionKey &, const VersionKey &) = default;
};

/// Safe from any thread.
class PlanCache {
public:
  /// One without executable if there is none.
  CompiledVersion find(const VersionKey &key) {
    std::lock_guard lock(mutex);
    for (auto it = versions.begin(); it != versions.end(); ++it)
      if (it->first == key) {
        versions.splice(versions.begin(), versions, it);
        return it->second;
      }
    return {};
  }

  void keep(const VersionKey &key, const CompiledVersion &version, size_t most) {
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
  std::list<std::pair<VersionKey, CompiledVersion>> versions;
  mutable ForkSafeMutex mutex;
};

} // namespace headrace
