// Tuning: the kernels of a model one after the other, those first that can still gain most; each
// trial in the log; the winners confirmed inside the whole model before later compilations use
// them. No MLIR header.
#pragma once

#include "driver/Model.h"

#include "tune/search/CandidateSearch.h"
#include <functional>

namespace headrace::tune {

struct TuneOptions {
  /// The number of trials per kernel.
  size_t trials = 64;
  /// After so many seconds no batch is begun; what is left goes into confirming winners.
  double seconds = 1e9;
  uint64_t seed = 0;
  size_t batch = 8;
  Strategy strategy = Strategy::Learned;
  FeatureSet features = FeatureSet::All;
  std::filesystem::path log;
  /// Whether trials of the log count, as they do after a stop.
  bool resume = false;
  /// Logs of other models and machines that the learned model begins with.
  std::vector<std::filesystem::path> experience;
  /// The store that winners are added to; empty: they are reported only.
  std::filesystem::path store;
  MeasureOptions measuring;
};

/// How far it is.
struct TuneProgress {
  std::string kernel;
  size_t trial = 0, trials = 0;
  double secondsLeft = 0;
  /// The time of all kernels by the best schedules so far, and by the compiler's.
  double bestMicroseconds = 0, defaultMicroseconds = 0;
};

/// What became of a kernel.
struct TunedKernel {
  std::string name;
  int uses = 1;
  size_t trials = 0;
  double defaultMicroseconds = 0;
  /// 1 if nothing was faster.
  double ratio = 1;
  std::string schedule, defaultSchedule;
  /// Whether the schedule was kept, after it was confirmed.
  bool isKept = false;
  /// Candidates that could not be measured: "crashed: SIGSEGV: tiles rows=6 ...".
  std::vector<std::string> failures;
};

struct TuneReport {
  std::vector<TunedKernel> kernels;
  std::vector<std::string> leftOut;
  /// Lines of the log that were left out.
  std::vector<std::string> faults;
  /// The library of the learned model, or why there is none.
  std::string model;
  /// The model's time with the winners in relation to that without, in turns; nothing if there was
  /// nothing to confirm, or a simulator counted.
  std::optional<double> modelRatio;
  bool isComplete = true; // false: the budget ended before all trials
};

/// Tunes a model at these sizes. Throws Error, and Interrupted: the log has every trial by then.
TuneReport tuneModel(const Model &model, const Settings &settings,
                     const std::vector<std::optional<int64_t>> &sizes, const TuneOptions &options,
                     const std::function<void(const TuneProgress &)> &progress = {});

/// Tunes kernels with a measurer; trials go into the log. `known` are trials of earlier runs.
class Tuner {
public:
  Tuner(std::vector<std::unique_ptr<KernelTask>> kernels, Measurer &measurer,
        const TuneOptions &options);

  /// Trials of the kernels in an earlier run.
  void takeOver(std::vector<Trial> known);
  /// Returns false if the budget ended first.
  bool run(LogWriter *log, const std::function<void(const TuneProgress &)> &progress);
  TuneReport report() const;
  /// A record of the best candidate of each kernel that became faster, those first that save most.
  std::vector<TunedRecord> winners() const;

private:
  struct Kernel {
    std::unique_ptr<KernelTask> task;
    CandidateSearch search;
    double defaultMicroseconds = 0;
    bool isExhausted = false;
    std::vector<std::string> failures;
  };
  double gainOf(const Kernel &kernel) const;
  Kernel *next();
  void add(Kernel &kernel, Trial trial);

  std::vector<Kernel> kernels;
  Measurer &measurer;
  TuneOptions options;
  RankModel model;
  std::vector<Trial> trials; // of all kernels, and experience
};

} // namespace headrace::tune
