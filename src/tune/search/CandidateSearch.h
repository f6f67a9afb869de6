// Which candidates of a kernel to measure next: evolution in batches, from what was measured best,
// judged by a learned model and the analytic cost before anything is run.
#pragma once

#include "tune/learn/RankModel.h"
#include <unordered_map>
#include <unordered_set>

namespace headrace::tune {

/// How candidates are found; the others than Learned are for comparison.
enum class Strategy { Learned, Evolution, Random };

class CandidateSearch {
public:
  /// The compiler's own schedule counts as measured: each trial is timed in turns with it.
  CandidateSearch(KernelTask &task, Strategy strategy, uint64_t seed)
      : task(task), strategy(strategy), random(seed), measured({{1.0, task.proposed()}}) {}

  /// At most so many candidates that were not tried, unlike each other; none if the space is
  /// exhausted. An untrained model counts as none.
  std::vector<Candidate> next(size_t count, const RankModel &model);
  /// A candidate was measured, in this run or an earlier one.
  void add(const Trial &trial);

  const Features &featuresOf(const Candidate &candidate);
  double predictedMicroseconds(const Candidate &candidate) { return known(candidate).predicted; }
  size_t trials() const { return tried.size(); }
  /// The fastest so far; null if none is faster than the default.
  const Trial *best() const { return fastest ? &*fastest : nullptr; }
  /// How many batches brought nothing better.
  int batchesInVain() const { return inVain; }

private:
  struct Known {
    double predicted = 0;
    Features features;
  };
  const Known &known(const Candidate &candidate);
  std::vector<Candidate> population(const RankModel &model);
  std::vector<double> costs(std::span<const Candidate> candidates, const RankModel &model);
  bool isTried(const Candidate &candidate) const {
    return candidate == task.proposed() || tried.contains(candidate.text());
  }

  KernelTask &task;
  Strategy strategy;
  std::mt19937_64 random;
  std::unordered_map<std::string, Known> knowledge;
  std::unordered_set<std::string> tried;
  std::vector<std::pair<double, Candidate>> measured; // by ratio, the best first
  std::optional<Trial> fastest;
  bool hasImproved = false;
  int inVain = 0;
};

} // namespace headrace::tune
