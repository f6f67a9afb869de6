// The schedules that a kernel, a call or an operator can have.
#pragma once

#include "schedule/Schedule.h"
#include <memory>

namespace headrace {

class ScheduleSpace {
public:
  virtual ~ScheduleSpace() = default;
  /// The stage that lines of recipes on these schedules name; empty if their lines name none.
  virtual std::string stage() const = 0;
  /// The schedule that the compiler proposes, from which others differ.
  virtual ScheduleRecord proposed() const = 0;
  /// One legal schedule of each other kind.
  virtual std::vector<ScheduleRecord> otherKinds() const { return {}; }
  /// Legal values of a parameter that are worth trying, ascending; the others stay as they are.
  virtual std::vector<int64_t> domainOf(const ScheduleRecord &schedule,
                                        std::string_view parameter) const = 0;
  /// Why the schedule cannot be; empty if it can.
  virtual std::string unsupportedReason(const ScheduleRecord &schedule) const = 0;
  /// Legal schedules that are worth trying first, the proposed one left out: all that differ from
  /// the proposed one in one parameter or in their kind, unless the target knows better ones.
  virtual std::vector<ScheduleRecord> alternatives() const;
  /// The schedule as lines of a recipe.
  virtual std::string recipe(const ScheduleRecord &schedule) const;
};

/// Legal schedules by chance, each once, the same for equal seeds: at most `count`, fewer if the
/// space is small. They begin at the proposed schedule or one of another kind and change several
/// parameters.
std::vector<ScheduleRecord> sampled(const ScheduleSpace &space, size_t count, uint64_t seed);

/// All legal schedules that differ from a schedule in any of its parameters, the first `most`.
std::vector<ScheduleRecord> enumerated(const ScheduleSpace &space, size_t most);

} // namespace headrace
