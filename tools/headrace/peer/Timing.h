#pragma once

#include <chrono>
#include <functional>
#include <vector>

namespace headrace::cli {

/// Statistics of a list of times in microseconds.
struct TimeSummary {
  double median = 0, p95 = 0, min = 0;
  size_t calls = 0;
};
TimeSummary summarize(std::vector<double> microseconds);

/// Time since the watch was made.
class Stopwatch {
public:
  double microseconds() const {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
};

/// Calls again and again for this long, at least once, after a call that is not counted and brings
/// the caches back; the time of each call. Peers take their turns in the same way.
std::vector<double> timedTurn(double seconds, const std::function<void()> &call);

} // namespace headrace::cli
