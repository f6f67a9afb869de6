// A kernel of tests: a space with a formula for its time.
#pragma once

#include "tune/task/KernelTask.h"
#include <cmath>
#include <unordered_set>

namespace headrace::tune {

class FakeTask final : public KernelTask {
public:
  explicit FakeTask(std::string name, int64_t bestRows = 16, int64_t bestColumns = 64)
      : ownName(std::move(name)), print("print of " + ownName), bestRows(bestRows),
        bestColumns(bestColumns) {}

  static Candidate candidate(int64_t rows, int64_t columns, int64_t order) {
    return {{{"tiles", {{"rows", rows}, {"columns", columns}, {"order", order}}}}};
  }

  const std::string &name() const override { return ownName; }
  const std::string &fingerprint() const override { return print; }
  int uses() const override { return 1; }
  const std::string &machine() const override { return ownMachine; }
  TunedRecord record(const Candidate &candidate, double microseconds,
                     double defaultMicroseconds) const override {
    return {print,        "anchor",
            ownMachine,   generatorVersion,
            ownName,      candidate.schedules,
            microseconds, defaultMicroseconds};
  }
  Candidate proposed() const override { return candidate(1, 8, 0); }
  std::vector<Candidate> sampled(size_t count, uint64_t seed) const override {
    std::mt19937_64 random(seed);
    std::vector<Candidate> result;
    std::unordered_set<std::string> seen;
    for (size_t i = 0; i < 16 * count && result.size() < count; ++i) {
      Candidate each = candidate(int64_t{1} << random() % 8, int64_t{1} << random() % 10,
                                 static_cast<int64_t>(random() % 2));
      if (seen.insert(each.text()).second)
        result.push_back(std::move(each));
    }
    return result;
  }
  std::optional<Candidate> mutated(const Candidate &candidate,
                                   std::mt19937_64 &random) const override {
    Candidate result = candidate;
    size_t which = random() % 3;
    auto &[name, value] = result.schedules.front().parameters[which];
    value = which == 2 ? 1 - value : int64_t{1} << random() % (which == 0 ? 8 : 10);
    return result == candidate ? std::nullopt : std::optional(result);
  }
  std::string unsupportedReason(const Candidate &) const override { return ""; }
  double predictedMicroseconds(const Candidate &) override { return 0; }
  Features features(const Candidate &candidate) override {
    return featuresOf(candidate, Work(), Estimate());
  }
  double lowerBoundMicroseconds() const override { return 1; }
  std::optional<double> countedMicroseconds(const Candidate &candidate) override {
    const ScheduleRecord &schedule = candidate.schedules.front();
    auto far = [](int64_t value, int64_t best) {
      return std::fabs(std::log2(static_cast<double>(value) / static_cast<double>(best)));
    };
    return 10 + 3 * far(*schedule.find("rows"), bestRows) +
           2 * far(*schedule.find("columns"), bestColumns) +
           static_cast<double>(*schedule.find("order"));
  }
  void writePackage(const Candidate &, const std::filesystem::path &) override {}

private:
  std::string ownName, print, ownMachine = "a machine";
  int64_t bestRows, bestColumns;
};

} // namespace headrace::tune
