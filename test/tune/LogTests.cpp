// Logs that were cut, changed or written by others: what holds is read, what does not is named.
#include "runtime/system/Error.h"

#include "FakeTask.h"
#include "tune/log/TuningLog.h"
#include <fstream>
#include <gtest/gtest.h>

namespace headrace::tune {
namespace {

namespace fs = std::filesystem;

fs::path fileNamed(const char *name) {
  fs::path path = fs::path(testing::TempDir()) / name;
  fs::remove(path);
  return path;
}

std::vector<Trial> someTrials(size_t count) {
  FakeTask task("a kernel");
  std::vector<Trial> trials;
  for (const Candidate &candidate : task.sampled(count, 5)) {
    Measurement found{
        Measurement::Status::Measured, "", *task.countedMicroseconds(candidate), 0, 30, 0};
    trials.push_back({task.fingerprint(), "anchor", task.name(), task.machine(), candidate, found,
                      2.5, task.features(candidate)});
  }
  trials.back().measurement = {Measurement::Status::Crashed, "SIGSEGV", 0, 0, 0, 0};
  return trials;
}

void write(const fs::path &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(TuningLog, IsReadAsItWasWritten) {
  fs::path path = fileNamed("whole.jsonl");
  std::vector<Trial> trials = someTrials(10);
  {
    LogWriter log(path, /*resume=*/false);
    for (const Trial &trial : trials)
      log.add(trial);
  }
  ReadLog read = readLog(path);
  EXPECT_TRUE(read.faults.empty());
  ASSERT_EQ(read.trials.size(), trials.size());
  for (size_t i = 0; i < trials.size(); ++i)
    EXPECT_EQ(toJson(read.trials[i]), toJson(trials[i]));
}

TEST(TuningLog, ATornLastLineCostsOneTrialAndIsNamed) {
  fs::path path = fileNamed("torn.jsonl");
  std::vector<Trial> trials = someTrials(4);
  std::string text;
  for (const Trial &trial : trials)
    text += toJson(trial).dump() + "\n";
  for (size_t cut : {size_t{2}, size_t{40}, size_t{200}}) {
    write(path, text.substr(0, text.size() - cut));
    ReadLog read = readLog(path);
    EXPECT_EQ(read.trials.size(), 3u);
    ASSERT_EQ(read.faults.size(), 1u);
    EXPECT_TRUE(read.faults[0].starts_with("line 4: ")) << read.faults[0];
    // What comes after it is whole.
    LogWriter(path, /*resume=*/true).add(trials.front());
    EXPECT_EQ(readLog(path).trials.size(), 4u);
    EXPECT_EQ(readLog(path).faults.size(), 1u);
  }
  // A last line that lacks its end only is whole.
  write(path, text.substr(0, text.size() - 1));
  EXPECT_EQ(readLog(path).trials.size(), 4u);
}

TEST(TuningLog, DamagedLinesAreNamedAndTheOthersHold) {
  fs::path path = fileNamed("damaged.jsonl");
  std::vector<Trial> trials = someTrials(6);
  std::string text;
  for (const Trial &trial : trials)
    text += toJson(trial).dump() + "\n";
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i) {
    std::string changed = text;
    size_t places = 1 + random() % 4;
    for (size_t place = 0; place < places; ++place)
      changed[random() % changed.size()] = static_cast<char>(random());
    write(path, changed);
    ReadLog read = readLog(path);
    // A byte can damage a line, end it, or join it with the next one; the others hold.
    EXPECT_GE(read.trials.size() + 2 * places, trials.size());
    EXPECT_LE(read.trials.size(), trials.size());
    for (const TunedRecord &record : bestOf(read.trials))
      EXPECT_GT(record.microseconds, 0);
  }
}

TEST(TuningLog, OtherFilesHaveNoTrials) {
  fs::path path = fileNamed("other.jsonl");
  for (const char *text :
       {"", "\n\n", "[]\n", "{}\n", "nonsense\n", "{\"kernel\":1}\n", "\x00\xff\n",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n"}) {
    write(path, text);
    EXPECT_TRUE(readLog(path).trials.empty());
  }
  EXPECT_THROW(readLog(path.parent_path()), Error);
  EXPECT_THROW(readLog(path.string() + ".absent"), Error);
}

TEST(TuningLog, ResultsOfAnotherGeneratorAreLeftOut) {
  fs::path path = fileNamed("older.jsonl");
  Json json = toJson(someTrials(1).front());
  json["generator"] = generatorVersion + 1;
  write(path, json.dump() + "\n");
  ReadLog read = readLog(path);
  EXPECT_TRUE(read.trials.empty());
  EXPECT_EQ(read.faults,
            std::vector<std::string>{"line 1: a result of another version of the generator"});
}

TEST(TuningLog, TheBestOfAKernelIsFasterThanTheDefault) {
  std::vector<Trial> trials = someTrials(20);
  std::vector<TunedRecord> best = bestOf(trials);
  ASSERT_EQ(best.size(), 1u);
  for (const Trial &trial : trials)
    if (trial.measurement.isMeasured())
      EXPECT_LE(best[0].microseconds, trial.measurement.microseconds);
  for (Trial &trial : trials)
    trial.measurement.defaultMicroseconds = 1;
  EXPECT_TRUE(bestOf(trials).empty());
}

} // namespace
} // namespace headrace::tune
