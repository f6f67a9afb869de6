#include "tune/search/CandidateSearch.h"

#include "runtime/system/Interruption.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headrace::tune {

namespace {

constexpr size_t kPopulation = 48, kParents = 12;
constexpr int kGenerations = 3;

/// The place of each value in the ascending order, from 0 to 1.
std::vector<double> placesOf(const std::vector<double> &values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](size_t i) { return values[i]; });
  std::vector<double> places(values.size());
  for (size_t i = 0; i < order.size(); ++i)
    places[order[i]] = i > 0 && values[order[i]] == values[order[i - 1]]
                           ? places[order[i - 1]]
                           : static_cast<double>(i) / static_cast<double>(order.size());
  return places;
}

} // namespace

const CandidateSearch::Known &CandidateSearch::known(const Candidate &candidate) {
  auto [place, isNew] = knowledge.try_emplace(candidate.text());
  if (isNew) {
    pollInterruption();
    place->second = {task.predictedMicroseconds(candidate), task.features(candidate)};
  }
  return place->second;
}

const Features &CandidateSearch::featuresOf(const Candidate &candidate) {
  return known(candidate).features;
}

/// What each is expected to cost, in any unit: places by the analytic cost, and the more is known
/// of this kernel the more by the model.
std::vector<double> CandidateSearch::costs(std::span<const Candidate> candidates,
                                           const RankModel &model) {
  std::vector<double> analytic;
  std::vector<Features> features;
  for (const Candidate &candidate : candidates) {
    analytic.push_back(known(candidate).predicted);
    features.push_back(known(candidate).features);
  }
  std::vector<double> result = placesOf(analytic);
  if (!model.isTrained() || strategy != Strategy::Learned)
    return result;
  std::vector<float> scores = model.scores(features);
  std::vector<double> learned = placesOf({scores.begin(), scores.end()});
  auto trials = static_cast<double>(measured.size());
  double trust = (trials + 4) / (trials + 12);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = (1 - trust) * result[i] - trust * learned[i];
  return result;
}

/// Candidates not tried yet, the most promising first.
std::vector<Candidate> CandidateSearch::population(const RankModel &model) {
  std::vector<Candidate> all;
  std::unordered_set<std::string> seen;
  auto add = [&](const Candidate &candidate) {
    if (!isTried(candidate) && seen.insert(candidate.text()).second)
      all.push_back(candidate);
  };
  for (const Candidate &candidate : task.sampled(kPopulation, random()))
    add(candidate);
  auto addMutations = [&](const Candidate &parent, size_t attempts) {
    for (size_t i = 0; i < attempts; ++i)
      if (std::optional<Candidate> child = task.mutated(parent, random))
        add(*child);
  };
  for (size_t i = 0; i < measured.size() && i < kParents / 2; ++i)
    addMutations(measured[i].second, kPopulation / 4);
  auto sort = [&] {
    std::vector<double> cost = costs(all, model);
    std::vector<size_t> order(all.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](size_t i) { return cost[i]; });
    std::vector<Candidate> sorted;
    for (size_t i : order)
      sorted.push_back(std::move(all[i]));
    all = std::move(sorted);
  };
  sort();
  for (int generation = 0; generation < kGenerations; ++generation) {
    std::vector<Candidate> parents(
        all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kParents)));
    for (const Candidate &parent : parents)
      addMutations(parent, kPopulation / kParents);
    sort();
    if (all.size() > 4 * kPopulation)
      all.resize(4 * kPopulation);
  }
  return all;
}

std::vector<Candidate> CandidateSearch::next(size_t count, const RankModel &model) {
  inVain = hasImproved || tried.empty() ? 0 : inVain + 1;
  hasImproved = false;
  std::vector<Candidate> batch;
  auto contains = [&](const Candidate &candidate) {
    return std::ranges::find(batch, candidate) != batch.end();
  };
  auto addByChance = [&](size_t most) {
    // Fewer are new the more were tried.
    for (const Candidate &candidate : task.sampled(count + 2 * tried.size(), random()))
      if (batch.size() < most && !isTried(candidate) && !contains(candidate))
        batch.push_back(candidate);
  };
  if (strategy == Strategy::Random) {
    addByChance(count);
    return batch;
  }
  // One in eight by chance: a model that is wrong finds out.
  size_t chosen = count - std::max<size_t>(1, count / 8);
  std::vector<Candidate> all = population(model);
  // Unlike each other first, then as they come.
  for (double distance : {1.5, 0.5, 0.0})
    for (const Candidate &candidate : all) {
      auto isNear = [&](const Candidate &other) {
        return distanceBetween(candidate, other) < distance;
      };
      if (batch.size() < chosen && !contains(candidate) && std::ranges::none_of(batch, isNear))
        batch.push_back(candidate);
    }
  addByChance(count);
  for (const Candidate &candidate : all)
    if (batch.size() < count && !contains(candidate))
      batch.push_back(candidate);
  return batch;
}

void CandidateSearch::add(const Trial &trial) {
  tried.insert(trial.candidate.text());
  if (!trial.measurement.isMeasured())
    return;
  double ratio = trial.measurement.ratio();
  auto place =
      std::ranges::upper_bound(measured, ratio, {}, [](const auto &each) { return each.first; });
  measured.insert(place, {ratio, trial.candidate});
  if (ratio < (fastest ? fastest->measurement.ratio() : 1.0)) {
    fastest = trial;
    hasImproved = true;
  }
}

} // namespace headrace::tune
