#include "tune/learn/RankModel.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace headrace::tune {

void RankModel::learn(std::span<const Trial> trials) {
  constexpr size_t kFewest = 8;
  std::map<std::string, std::vector<const Trial *>> kernels;
  for (const Trial &trial : trials)
    kernels[trial.kernel].push_back(&trial);
  Rows rows;
  std::vector<float> labels;
  std::vector<unsigned> groups;
  for (const auto &[kernel, all] : kernels) {
    double best = 0;
    for (const Trial *trial : all)
      if (trial->measurement.isMeasured())
        best = std::max(best, 1 / trial->measurement.ratio());
    if (best <= 0 || all.size() < 2)
      continue;
    for (const Trial *trial : all) {
      std::vector<float> row = trial->features.of(set);
      if (rows.columns && row.size() != rows.columns)
        continue; // of a log with other features
      rows.add(row);
      const Measurement &found = trial->measurement;
      // A candidate that failed is worse than any other.
      labels.push_back(found.isMeasured() ? static_cast<float>(1 / found.ratio() / best) : 0);
      if (groups.size() < rows.count() && (groups.empty() || trial == all.front()))
        groups.push_back(0);
      ++groups.back();
    }
  }
  booster.reset();
  if (rows.count() >= kFewest && isAvailable())
    booster = std::make_unique<Booster>(rows, labels, groups, seed);
}

std::vector<float> RankModel::scores(std::span<const Features> candidates) const {
  Rows rows;
  for (const Features &features : candidates)
    rows.add(features.of(set));
  return booster->scores(rows);
}

/// The rank of each value, equal ones sharing the mean of theirs.
static std::vector<double> ranksOf(const std::vector<double> &values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]])
      ++end;
    for (size_t i = begin; i < end; ++i)
      ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
    begin = end;
  }
  return ranks;
}

double rankCorrelation(std::span<const float> scores, std::span<const double> microseconds) {
  std::vector<double> speeds;
  for (double time : microseconds)
    speeds.push_back(-time);
  std::vector<double> a = ranksOf({scores.begin(), scores.end()}), b = ranksOf(speeds);
  double mean = static_cast<double>(a.size() - 1) / 2, both = 0, ofA = 0, ofB = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean) * (b[i] - mean);
    ofA += (a[i] - mean) * (a[i] - mean);
    ofB += (b[i] - mean) * (b[i] - mean);
  }
  return ofA > 0 && ofB > 0 ? both / std::sqrt(ofA * ofB) : 0;
}

} // namespace headrace::tune
