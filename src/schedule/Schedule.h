// A schedule as data: how a kernel, a library call or an operator of an accelerator is computed, as
// a kind and named numbers. Every target's schedules are such records, or views of one with typed
// members, so that recipes, reports and tuners treat all of them alike.
//
//   tiles rows=6 columns=32 cells=16 pack=0 features=1 prefetch=1     a kernel's loops
//   openblas.sgemm rows=256 columns=0 depth=0                         a call
//   warpgroups threads=384 tileM=128 tileN=256 stages=4 ...           a launch
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace {

struct ScheduleRecord {
  std::string kind;
  /// In the order of the kind. A record that a user gives may lack some: they are to be chosen.
  std::vector<std::pair<std::string, int64_t>> parameters;

  bool operator==(const ScheduleRecord &) const = default;
  bool has(std::string_view name) const { return find(name).has_value(); }
  std::optional<int64_t> find(std::string_view name) const;
  /// Sets a parameter that the record has.
  void set(std::string_view name, int64_t value);

  /// Kind and parameters, as recipes have them: "rows vector=64".
  std::string text() const;
  /// Equal records have equal hashes, in every process.
  uint64_t hash() const;
};

/// How far apart two schedules are: for each parameter the doublings from one value to the other,
/// one for a parameter that only one of them has, and more than any of these for another kind.
double distanceBetween(const ScheduleRecord &a, const ScheduleRecord &b);

} // namespace headrace
