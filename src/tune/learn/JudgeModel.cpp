#include "tune/learn/JudgeModel.h"

#include <functional>
#include <map>

namespace headrace::tune {

namespace {

using Scores = std::function<std::vector<float>(const std::string &kernel,
                                                const std::vector<const Trial *> &own)>;
using Kernels = std::map<std::string, std::vector<const Trial *>>;

Judgement judge(const std::string &what, const Kernels &kernels, const Scores &scoresOf) {
  Judgement result{what, {}, 0};
  for (const auto &[kernel, own] : kernels) {
    std::vector<float> scores = scoresOf(kernel, own);
    if (scores.empty())
      continue;
    std::vector<double> ratios;
    for (const Trial *trial : own)
      ratios.push_back(trial->measurement.ratio());
    double correlation = rankCorrelation(scores, ratios);
    result.kernels.emplace_back(own.front()->name, correlation);
    result.mean += correlation;
  }
  if (!result.kernels.empty())
    result.mean /= static_cast<double>(result.kernels.size());
  return result;
}

} // namespace

std::vector<Judgement> judged(std::span<const Trial> trials, uint64_t seed) {
  constexpr size_t kFewest = 8;
  Kernels kernels;
  for (const Trial &trial : trials)
    if (trial.measurement.isMeasured())
      kernels[trial.kernel].push_back(&trial);
  std::erase_if(kernels, [](const auto &each) { return each.second.size() < kFewest; });
  std::vector<Judgement> result;
  result.push_back(judge("analytic cost", kernels, [](const std::string &, const auto &own) {
    std::vector<float> scores;
    for (const Trial *trial : own)
      scores.push_back(static_cast<float>(-trial->predictedMicroseconds));
    return scores;
  }));
  if (!RankModel::isAvailable())
    return result;
  for (FeatureSet set :
       {FeatureSet::Configuration, FeatureSet::Loops, FeatureSet::Steps, FeatureSet::All})
    result.push_back(
        judge(std::string(nameOf(set)), kernels, [&](const std::string &kernel, const auto &own) {
          std::vector<Trial> others;
          for (const Trial &trial : trials)
            if (trial.kernel != kernel)
              others.push_back(trial);
          RankModel model(set, seed);
          model.learn(others);
          if (!model.isTrained())
            return std::vector<float>();
          std::vector<Features> features;
          for (const Trial *trial : own)
            features.push_back(trial->features);
          return model.scores(features);
        }));
  return result;
}

} // namespace headrace::tune
