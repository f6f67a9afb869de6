#include "target/vta/schedule/choose/ProposeSchedule.h"

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"
#include "target/vta/schedule/ChipPlan.h"
#include "target/vta/schedule/CyclePrediction.h"
#include "target/vta/schedule/choose/ScheduleReport.h"

#include <algorithm>
#include <cstdlib>

namespace headrace::vta {

namespace {

/// The number of schedules that the cycle model simulates before the best is improved.
constexpr size_t simulatedSchedules = 16;
/// How often the best is replaced by a neighbour.
constexpr int improvements = 8;

/// Sizes that cut a loop into parts as equal as can be, the largest first.
std::vector<int64_t> evenParts(int64_t size) {
  std::vector<int64_t> parts;
  for (int64_t count = 1; count <= size; ++count)
    if (int64_t part = dividedUp(size, count); parts.empty() || part != parts.back())
      parts.push_back(part);
  return parts;
}

std::vector<int64_t> domainOf(const OperatorShape &shape, std::string_view parameter) {
  if (parameter == "batch")
    return evenParts(shape.batch);
  if (parameter == "rows")
    return evenParts(shape.height);
  if (parameter == "columns")
    return evenParts(shape.width);
  if (parameter == "out")
    return evenParts(shape.largestFamily);
  if (parameter == "in")
    return evenParts(shape.depth);
  if (parameter == "threads")
    return {1, 2};
  if (parameter == "along")
    return shape.multiplies ? std::vector<int64_t>{0, 1, 2, 3, 4} : std::vector<int64_t>{0};
  if (parameter == "keep")
    return shape.multiplies ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0};
  throw Error(ErrorKind::InvalidArgument, "a schedule has no parameter " + inQuotes(parameter));
}

struct Candidate {
  Schedule schedule;
  double cycles;
  size_t number; ///< in the order they were found
};

/// An operator that the accelerator can compute, counted in blocks once.
struct Prepared {
  Prepared(const Operator &op, const Configuration &configuration)
      : op(op), configuration(configuration) {
    if (std::string reason = vta::unsupportedReason(op, configuration); !reason.empty())
      throw Error(ErrorKind::Unsupported, "operator " + inQuotes(op.name) + ": " + reason);
    shape.emplace(op, configuration);
    stages = lowerStages(op);
  }

  bool allows(const Schedule &schedule) const {
    return unsupportedReason(*shape, stages, schedule, configuration).empty();
  }

  const Operator &op;
  const Configuration &configuration;
  std::optional<OperatorShape> shape;
  AluProgram stages;
};

/// All legal schedules of the domains, each with its predicted cycles.
class Candidates {
public:
  Candidates(const Prepared &prepared, std::optional<int64_t> threads)
      : prepared(prepared), names(Schedule::parameterNames()) {
    for (std::string_view name : names)
      domains.push_back(domainOf(*prepared.shape, name));
    if (threads)
      domains[static_cast<size_t>(std::ranges::find(names, "threads") - names.begin())] = {
          *threads};
    choose(0);
  }

  std::vector<Candidate> found;

private:
  void choose(size_t parameter) {
    if (parameter == names.size()) {
      take();
      return;
    }
    for (int64_t value : domains[parameter]) {
      schedule.setParameter(names[parameter], value);
      choose(parameter + 1);
    }
  }

  void take() {
    if (schedule.threads == 1 && schedule.along != Schedule::Along::In)
      return; // nothing is split: the same as another
    if (prepared.allows(schedule))
      found.push_back(
          {schedule,
           predictCycles(*prepared.shape, prepared.stages, schedule, prepared.configuration),
           found.size()});
  }

  const Prepared &prepared;
  std::vector<std::string_view> names;
  std::vector<std::vector<int64_t>> domains;
  Schedule schedule;
};

std::vector<Schedule> bestPredicted(const Prepared &prepared, size_t most,
                                    std::optional<int64_t> threads) {
  std::vector<Candidate> found = Candidates(prepared, threads).found;
  std::ranges::sort(found, {}, [](const Candidate &c) { return std::pair(c.cycles, c.number); });
  std::vector<Schedule> schedules;
  for (size_t i = 0; i < std::min(most, found.size()); ++i)
    schedules.push_back(found[i].schedule);
  return schedules;
}

/// The cycles of schedules, each counted once.
class Counted {
public:
  explicit Counted(const Prepared &prepared) : prepared(prepared) {}

  /// Takes the schedule if it is better than all before.
  bool improve(const Schedule &schedule) {
    if (std::ranges::find(tried, schedule) != tried.end())
      return false;
    tried.push_back(schedule);
    int64_t cycles =
        simulate(prepared.op, *prepared.shape, prepared.stages, schedule, prepared.configuration)
            .cycles;
    if (least && *least <= cycles)
      return false;
    least = cycles;
    best = schedule;
    return true;
  }

  Schedule best;

private:
  const Prepared &prepared;
  std::vector<Schedule> tried;
  std::optional<int64_t> least;
};

/// Legal schedules that differ in one parameter by one place in its domain.
std::vector<Schedule> neighbours(const Prepared &prepared, const Schedule &of) {
  std::vector<Schedule> found;
  for (std::string_view name : Schedule::parameterNames()) {
    if (name == "threads" || (name == "along" && of.threads == 1))
      continue;
    std::vector<int64_t> domain = domainOf(*prepared.shape, name);
    bool isTile = name != "along" && name != "keep";
    auto at = std::ranges::find(domain, of.parameter(name)) - domain.begin();
    for (ptrdiff_t i = 0; i < std::ssize(domain); ++i) {
      Schedule next = of;
      next.setParameter(name, domain[static_cast<size_t>(i)]);
      if (i != at && (!isTile || std::abs(i - at) == 1) && prepared.allows(next))
        found.push_back(next);
    }
  }
  return found;
}

} // namespace

std::vector<int64_t> domainOf(const Operator &op, const Configuration &configuration,
                              std::string_view parameter) {
  return domainOf(*Prepared(op, configuration).shape, parameter);
}

std::vector<Schedule> alternatives(const Operator &op, const Configuration &configuration,
                                   size_t most, std::optional<int64_t> threads) {
  return bestPredicted(Prepared(op, configuration), most, threads);
}

Schedule propose(const Operator &op, const Configuration &configuration,
                 std::optional<int64_t> threads) {
  Prepared prepared(op, configuration);
  std::vector<Schedule> schedules = bestPredicted(prepared, simulatedSchedules, threads);
  if (schedules.empty())
    throw Error(ErrorKind::Unsupported, "operator " + inQuotes(op.name) + ": no schedule with " +
                                            std::to_string(threads.value_or(1)) +
                                            " virtual threads fits the chip");
  Counted counted(prepared);
  for (const Schedule &schedule : schedules)
    counted.improve(schedule);
  for (int i = 0; i < improvements; ++i) {
    bool isBetter = false;
    for (const Schedule &next : neighbours(prepared, counted.best))
      isBetter |= counted.improve(next);
    if (!isBetter)
      break;
  }
  return counted.best;
}

} // namespace headrace::vta
