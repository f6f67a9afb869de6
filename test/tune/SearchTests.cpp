// The search over schedules: on a space with a formula for its time.
#include "FakeTask.h"
#include "tune/Tuner.h"
#include <gtest/gtest.h>

namespace headrace::tune {
namespace {

TuneReport tuned(const TuneOptions &options, std::vector<Trial> known = {}) {
  std::vector<std::unique_ptr<KernelTask>> kernels;
  kernels.push_back(std::make_unique<FakeTask>("one"));
  kernels.push_back(std::make_unique<FakeTask>("two", 64, 8));
  std::unique_ptr<Measurer> measurer = countBySimulator();
  Tuner tuner(std::move(kernels), *measurer, options);
  tuner.takeOver(std::move(known));
  std::optional<LogWriter> log;
  if (!options.log.empty())
    log.emplace(options.log, options.resume);
  EXPECT_TRUE(tuner.run(log ? &*log : nullptr, nullptr));
  return tuner.report();
}

double totalRatio(Strategy strategy, size_t trials) {
  double total = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    TuneOptions options;
    options.strategy = strategy;
    options.trials = trials;
    options.seed = seed;
    for (const TunedKernel &kernel : tuned(options).kernels)
      total += kernel.ratio;
  }
  return total;
}

TEST(Search, EachTrialIsANewCandidate) {
  FakeTask task("one");
  CandidateSearch search(task, Strategy::Evolution, 1);
  RankModel model(FeatureSet::All, 1);
  std::set<std::string> seen;
  for (int i = 0; i < 10; ++i)
    for (const Candidate &candidate : search.next(8, model)) {
      EXPECT_TRUE(seen.insert(candidate.text()).second) << candidate.text();
      Trial trial;
      trial.candidate = candidate;
      trial.measurement = {
          Measurement::Status::Measured, "", *task.countedMicroseconds(candidate), 0, 10, 0};
      search.add(trial);
    }
  EXPECT_EQ(seen.size(), 80u);
}

TEST(Search, ASmallSpaceIsExhausted) {
  TuneOptions options;
  options.trials = 1000; // the space has 160 points
  for (Strategy strategy : {Strategy::Evolution, Strategy::Random}) {
    options.strategy = strategy;
    for (const TunedKernel &kernel : tuned(options).kernels) {
      EXPECT_LE(kernel.trials, 160u);
      EXPECT_GE(kernel.trials, 100u);
    }
  }
}

TEST(Search, EvolutionFindsMoreThanChance) {
  EXPECT_LT(totalRatio(Strategy::Evolution, 32), totalRatio(Strategy::Random, 32));
}

TEST(Search, ALearnedModelFindsMoreThanChance) {
  if (!RankModel::isAvailable())
    GTEST_SKIP() << Booster::unsupportedReason();
  EXPECT_LT(totalRatio(Strategy::Learned, 32), totalRatio(Strategy::Random, 32));
}

TEST(Search, EqualSeedsGiveEqualReports) {
  TuneOptions options;
  options.trials = 24;
  TuneReport first = tuned(options), second = tuned(options);
  for (size_t i = 0; i < first.kernels.size(); ++i) {
    EXPECT_EQ(first.kernels[i].schedule, second.kernels[i].schedule);
    EXPECT_EQ(first.kernels[i].ratio, second.kernels[i].ratio);
  }
}

TEST(Search, TheBestIsNeverWorseAfterAResume) {
  std::filesystem::path log = std::filesystem::path(testing::TempDir()) / "resumed.jsonl";
  std::filesystem::remove(log);
  TuneOptions options;
  options.trials = 16;
  options.log = log;
  TuneReport before = tuned(options);
  options.trials = 24;
  options.resume = true;
  TuneReport after = tuned(options, readLog(log).trials);
  for (size_t i = 0; i < before.kernels.size(); ++i) {
    EXPECT_LE(after.kernels[i].ratio, before.kernels[i].ratio);
    EXPECT_EQ(after.kernels[i].trials, 24u);
  }
  EXPECT_EQ(readLog(log).trials.size(), 48u);
}

TEST(RankModel, OrdersKernelsThatItHasNotSeen) {
  if (!RankModel::isAvailable())
    GTEST_SKIP() << Booster::unsupportedReason();
  auto trialsOf = [](FakeTask &task) {
    std::vector<Trial> trials;
    for (const Candidate &candidate : task.sampled(60, 3)) {
      Measurement found{
          Measurement::Status::Measured, "", *task.countedMicroseconds(candidate), 0, 10, 0};
      trials.push_back({task.fingerprint(), "anchor", task.name(), task.machine(), candidate, found,
                        0, task.features(candidate)});
    }
    return trials;
  };
  FakeTask seen("seen"), unseen("unseen", 32, 64);
  RankModel model(FeatureSet::Configuration, 0);
  model.learn(trialsOf(seen));
  ASSERT_TRUE(model.isTrained());
  std::vector<Features> features;
  std::vector<double> times;
  for (const Trial &trial : trialsOf(unseen)) {
    features.push_back(trial.features);
    times.push_back(trial.measurement.microseconds);
  }
  EXPECT_GT(rankCorrelation(model.scores(features), times), 0.5);
}

TEST(RankModel, CorrelationIsOneForTheSameOrder) {
  std::vector<double> times = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(rankCorrelation(std::vector<float>{-4, -1, -3, -2}, times), 1);
  EXPECT_DOUBLE_EQ(rankCorrelation(std::vector<float>{4, 1, 3, 2}, times), -1);
  EXPECT_DOUBLE_EQ(rankCorrelation(std::vector<float>{1, 1, 1, 1}, times), 0);
}

} // namespace
} // namespace headrace::tune
