#pragma once

#include "runtime/system/ForkSafety.h"

#include <memory>
#include <mutex>
#include <vector>

namespace headrace {

/// Things that one call needs to itself, handed on from call to call.
template <class T> class IdlePool {
public:
  struct Return {
    IdlePool *pool;
    void operator()(T *item) const {
      std::unique_ptr<T> owned(item);
      std::lock_guard lock(pool->mutex);
      pool->idle.push_back(std::move(owned));
    }
  };
  using Lease = std::unique_ptr<T, Return>;

  /// An idle one, or a new one.
  template <class Make> Lease take(const Make &make) {
    {
      std::lock_guard lock(mutex);
      if (!idle.empty()) {
        Lease lease(idle.back().release(), {this});
        idle.pop_back();
        return lease;
      }
    }
    return Lease(make().release(), {this});
  }

  /// Calls `visit` for each that no call has at the moment.
  template <class Visit> void forEachIdle(const Visit &visit) {
    std::lock_guard lock(mutex);
    for (const std::unique_ptr<T> &item : idle)
      visit(*item);
  }

private:
  ForkSafeMutex mutex;
  std::vector<std::unique_ptr<T>> idle;
};

} // namespace headrace
