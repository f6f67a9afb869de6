#pragma once

#include "runtime/system/ForkSafety.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace headrace {

/// A cache, least recently used out first, of everything that a program's sizes decide. T has
/// `symbols`.
template <class T> class BindingCache {
public:
  template <class Make>
  std::shared_ptr<const T> find(std::span<const int64_t> symbols, const Make &make) {
    auto matches = [&](const std::shared_ptr<const T> &binding) {
      return std::ranges::equal(binding->symbols, symbols);
    };
    {
      std::lock_guard lock(mutex);
      auto found = std::find_if(bindings.begin(), bindings.end(), matches);
      if (found != bindings.end()) {
        std::rotate(bindings.begin(), found, found + 1);
        return bindings.front();
      }
    }
    // Made outside the lock; two threads may make the same one, which is harmless.
    auto binding = std::make_shared<const T>(make());
    std::lock_guard lock(mutex);
    if (bindings.size() == kept)
      bindings.pop_back();
    bindings.insert(bindings.begin(), binding);
    return binding;
  }

private:
  static constexpr size_t kept = 8;
  ForkSafeMutex mutex;
  std::vector<std::shared_ptr<const T>> bindings; // latest use first
};

} // namespace headrace
