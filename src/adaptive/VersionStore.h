// The store of compiled versions: of a model for different sizes, of a part of a split model for
// different values, of a script's block, of its arguments. Bounded; the least recently used version
// is dropped first.
#pragma once

#include "runtime/system/ForkSafety.h"

#include "adaptive/CompileLog.h"
#include <algorithm>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace headrace::adaptive {

/// Safe from any thread. Whoever has a version keeps it alive, in the store or not.
template <class Key, class Version> class VersionStore {
public:
  using Pointer = std::shared_ptr<Version>;
  /// The name of a version for the log.
  using Describe = std::function<VersionName(const Key &, const Version &)>;

  /// Keeps at most `max` versions, and at most `maxPerKey` of one key; at least one of each.
  explicit VersionStore(size_t max, Describe describe = nullptr, size_t maxPerKey = SIZE_MAX)
      : max(std::max<size_t>(max, 1)), maxPerKey(std::max<size_t>(maxPerKey, 1)),
        describe(std::move(describe)) {}

  /// Null if there is none.
  Pointer find(const Key &key) {
    return findIf([&](const Key &each, const Version &) { return each == key; });
  }
  /// The most recently used version that fits; null if there is none. `fits` gets key and version,
  /// is called under the store's lock, and locks nothing itself.
  template <class Fits> Pointer findIf(Fits fits) {
    std::lock_guard lock(mutex);
    for (auto it = entries.begin(); it != entries.end(); ++it)
      if (fits(std::as_const(it->key), std::as_const(*it->version))) {
        entries.splice(entries.begin(), entries, it);
        return it->version;
      }
    return nullptr;
  }

  /// Keeps another version, which is the most recently used from now on.
  void add(const Key &key, Pointer version) {
    Entries dropped; // outside the lock
    {
      std::lock_guard lock(mutex);
      entries.push_front({key, std::move(version)});
      auto ofKey = [&](const Entry &entry) { return entry.key == key; };
      if (static_cast<size_t>(std::ranges::count_if(entries, ofKey)) > maxPerKey)
        drop(std::find_if(entries.rbegin(), entries.rend(), ofKey), dropped);
      while (entries.size() > max)
        drop(entries.rbegin(), dropped);
    }
    logDropped(dropped);
  }

  /// The versions of a key, the most recently used first.
  std::vector<Pointer> versions(const Key &key) const {
    std::lock_guard lock(mutex);
    std::vector<Pointer> found;
    for (const Entry &entry : entries)
      if (entry.key == key)
        found.push_back(entry.version);
    return found;
  }
  std::vector<Pointer> all() const {
    std::lock_guard lock(mutex);
    std::vector<Pointer> found;
    for (const Entry &entry : entries)
      found.push_back(entry.version);
    return found;
  }

  /// All versions with their keys, the most recently used first.
  std::vector<std::pair<Key, Pointer>> entriesNow() const {
    std::lock_guard lock(mutex);
    std::vector<std::pair<Key, Pointer>> found;
    for (const Entry &entry : entries)
      found.emplace_back(entry.key, entry.version);
    return found;
  }

  size_t size() const {
    std::lock_guard lock(mutex);
    return entries.size();
  }

private:
  struct Entry {
    Key key;
    Pointer version;
  };
  using Entries = std::list<Entry>;

  void drop(typename Entries::reverse_iterator last, Entries &dropped) {
    dropped.splice(dropped.begin(), entries, std::prev(last.base()));
  }

  void logDropped(const Entries &dropped) const {
    if (describe && isCompilationLogged())
      for (const Entry &entry : dropped)
        logVersion(VersionEvent::Dropped, describe(entry.key, *entry.version),
                   "the least recently used, of at most " +
                       std::to_string(std::min(max, maxPerKey)));
  }

  const size_t max, maxPerKey;
  const Describe describe;
  Entries entries; // most recently used first
  mutable ForkSafeMutex mutex;
};

} // namespace headrace::adaptive
