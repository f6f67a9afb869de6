#include "peer/Timing.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace headrace::cli {

namespace {

// Interpolates between the neighbours if the rank is not an integer, as NumPy does.
double percentile(const std::vector<double> &sorted, double fraction) {
  double rank = fraction * static_cast<double>(sorted.size() - 1);
  auto below = static_cast<size_t>(std::floor(rank));
  size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - std::floor(rank)) * (sorted[above] - sorted[below]);
}

} // namespace

TimeSummary summarize(std::vector<double> microseconds) {
  if (microseconds.empty())
    return {};
  std::sort(microseconds.begin(), microseconds.end());
  return {percentile(microseconds, 0.5), percentile(microseconds, 0.95), microseconds.front(),
          microseconds.size()};
}

std::vector<double> timedTurn(double seconds, const std::function<void()> &call) {
  // Lets the threads of the system before stop spinning.
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  call();
  std::vector<double> times;
  Stopwatch turn;
  do {
    Stopwatch watch;
    call();
    times.push_back(watch.microseconds());
  } while (turn.microseconds() < seconds * 1e6);
  return times;
}

} // namespace headrace::cli
