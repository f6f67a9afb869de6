#include "target/vta/schedule/ProposeSchedule.h"

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"
#include "target/vta/schedule/ChipPlan.h"
#include "target/vta/schedule/CyclePrediction.h"
#include "target/vta/schedule/ScheduleReport.h"

#include <algorithm>

namespace headrace::vta {

namespace {

/// Of how many schedules the cycle model counts the cycles.
constexpr size_t simulatedSchedules = 24;

/// Sizes that cut a loop into parts as equal as can be, the largest first.
std::vector<int64_t> evenParts(int64_t size) {
  std::vector<int64_t> parts;
  for (int64_t count = 1; count <= size; ++count)
    if (int64_t part = ceilOf(size, count); parts.empty() || part != parts.back())
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

/// All legal schedules of the domains, each with its predicted cycles.
class Candidates {
public:
  Candidates(const Operator &op, const Configuration &configuration, std::optional<int64_t> threads)
      : shape(op, configuration), stages(lowerStages(op)), configuration(configuration),
        names(Schedule::parameterNames()) {
    for (std::string_view name : names)
      domains.push_back(domainOf(shape, name));
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
    if (whyNot(shape, stages, schedule, configuration).empty())
      found.push_back(
          {schedule, predictCycles(shape, stages, schedule, configuration), found.size()});
  }

  OperatorShape shape;
  AluProgram stages;
  const Configuration &configuration;
  std::vector<std::string_view> names;
  std::vector<std::vector<int64_t>> domains;
  Schedule schedule;
};

} // namespace

std::vector<int64_t> domainOf(const Operator &op, const Configuration &configuration,
                              std::string_view parameter) {
  return domainOf(OperatorShape(op, configuration), parameter);
}

std::vector<Schedule> alternatives(const Operator &op, const Configuration &configuration,
                                   size_t most, std::optional<int64_t> threads) {
  if (std::string reason = whyNot(op, configuration); !reason.empty())
    throw Error(ErrorKind::Unsupported, "operator " + inQuotes(op.name) + ": " + reason);
  std::vector<Candidate> found = Candidates(op, configuration, threads).found;
  std::ranges::sort(found, {}, [](const Candidate &c) { return std::pair(c.cycles, c.number); });
  std::vector<Schedule> schedules;
  for (size_t i = 0; i < std::min(most, found.size()); ++i)
    schedules.push_back(found[i].schedule);
  return schedules;
}

Schedule propose(const Operator &op, const Configuration &configuration,
                 std::optional<int64_t> threads) {
  std::vector<Schedule> schedules = alternatives(op, configuration, simulatedSchedules, threads);
  if (schedules.empty())
    throw Error(ErrorKind::Unsupported, "operator " + inQuotes(op.name) + ": no schedule with " +
                                            std::to_string(threads.value_or(1)) +
                                            " virtual threads fits the chip");
  return *std::ranges::min_element(schedules, {}, [&](const Schedule &schedule) {
    return simulate(op, schedule, configuration).cycles;
  });
}

} // namespace headrace::vta
