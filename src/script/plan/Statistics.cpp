#include "script/plan/Statistics.h"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace headrace::script {

std::string print(const Statistics &s, size_t most) {
  std::string text;
  auto line = [&](const char *format, auto... values) {
    char buffer[256];
    std::snprintf(buffer, sizeof buffer, format, values...);
    text += buffer;
  };
  line("total              %10.3f s\n", s.totalSeconds);
  line("blocks             %10lld\n", static_cast<long long>(s.blocks));
  line("plans              %10lld   %.3f s\n", static_cast<long long>(s.plans), s.planSeconds);
  line("  recompilations   %10lld\n", static_cast<long long>(s.recompilations));
  line("  cache hits       %10lld\n", static_cast<long long>(s.cacheHits));
  line("compilations       %10lld   %.3f s\n", static_cast<long long>(s.compilations),
       s.compileSeconds);
  if (s.reused)
    line("invariants reused  %10lld   %.3f s saved\n", static_cast<long long>(s.reused),
         s.reusedSeconds);
  std::vector<std::pair<std::string, Statistics::Operator>> sorted(s.operators.begin(),
                                                                   s.operators.end());
  std::ranges::stable_sort(sorted, std::greater(),
                           [](const auto &entry) { return entry.second.seconds; });
  sorted.resize(std::min(sorted.size(), most));
  if (!sorted.empty())
    text += "operators               calls    seconds\n";
  for (const auto &[name, times] : sorted)
    line("  %-20.80s %6lld %10.4f\n", name.c_str(), static_cast<long long>(times.calls),
         times.seconds);
  return text;
}

} // namespace headrace::script
