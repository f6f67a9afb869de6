#include "tune/Tuner.h"

#include "driver/machine/FirstCalibration.h"
#include "runtime/system/Error.h"

#include "tune/Confirm.h"
#include "tune/log/Chart.h"
#include "tune/store/TunedStore.h"
#include "tune/task/CompiledTask.h"
#include <algorithm>
#include <chrono>
#include <cmath>

namespace headrace::tune {

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Tuner::Tuner(std::vector<std::unique_ptr<KernelTask>> tasks, Measurer &measurer,
             const TuneOptions &options)
    : measurer(measurer), options(options), model(options.features, options.seed) {
  for (std::unique_ptr<KernelTask> &task : tasks) {
    // Equal kernels of two models are searched alike.
    uint64_t seed = options.seed;
    for (unsigned char letter : task->fingerprint())
      seed = (seed ^ letter) * 1099511628211u;
    CandidateSearch search(*task, options.strategy, seed);
    kernels.push_back({std::move(task), std::move(search), 0, false, {}});
    kernels.back().defaultMicroseconds =
        kernels.back().task->predictedMicroseconds(kernels.back().task->proposed());
  }
}

void Tuner::add(Kernel &kernel, Trial trial) {
  kernel.search.add(trial);
  if (trial.measurement.isMeasured())
    kernel.defaultMicroseconds = trial.measurement.defaultMicroseconds;
  else
    kernel.failures.push_back(std::string(nameOf(trial.measurement.status)) + ": " +
                              trial.measurement.reason + ": " + trial.candidate.text());
  trials.push_back(std::move(trial));
}

void Tuner::takeOver(std::vector<Trial> known) {
  for (Trial &trial : known) {
    auto isOf = [&](const Kernel &kernel) {
      return kernel.task->fingerprint() == trial.kernel && kernel.task->machine() == trial.machine;
    };
    auto found = std::ranges::find_if(kernels, isOf);
    if (found != kernels.end())
      add(*found, std::move(trial));
    else
      trials.push_back(std::move(trial));
  }
}

/// What a kernel can still gain: its distance from what no schedule can beat, less the longer
/// nothing better was found.
double Tuner::gainOf(const Kernel &kernel) const {
  const Trial *best = kernel.search.best();
  double time = kernel.defaultMicroseconds * (best ? best->measurement.ratio() : 1);
  double distance = std::max(time - kernel.task->lowerBoundMicroseconds(), 0.05 * time);
  return kernel.task->uses() * distance * std::pow(0.7, kernel.search.batchesInVain());
}

Tuner::Kernel *Tuner::next() {
  Kernel *best = nullptr;
  double most = -1;
  for (Kernel &kernel : kernels) {
    if (kernel.isExhausted || kernel.search.trials() >= options.trials)
      continue;
    if (double gain = gainOf(kernel); gain > most) {
      most = gain;
      best = &kernel;
    }
  }
  return best;
}

bool Tuner::run(LogWriter *log, const std::function<void(const TuneProgress &)> &progress) {
  auto start = Clock::now();
  size_t before = 0;
  for (const Kernel &kernel : kernels)
    before += kernel.search.trials();
  auto show = [&](const Kernel &kernel) {
    TuneProgress now;
    now.kernel = kernel.task->name();
    for (const Kernel &each : kernels) {
      const Trial *best = each.search.best();
      now.trial += each.search.trials();
      now.trials += each.isExhausted ? each.search.trials() : options.trials;
      now.defaultMicroseconds += each.task->uses() * each.defaultMicroseconds;
      now.bestMicroseconds +=
          each.task->uses() * each.defaultMicroseconds * (best ? best->measurement.ratio() : 1);
    }
    double spent = secondsSince(start), left = options.seconds - spent;
    if (now.trial > before)
      left = std::min(left, spent / static_cast<double>(now.trial - before) *
                                static_cast<double>(now.trials - std::min(now.trials, now.trial)));
    now.secondsLeft = std::max(left, 0.0);
    progress(now);
  };
  while (Kernel *kernel = next()) {
    if (secondsSince(start) >= options.seconds)
      return false;
    if (progress)
      show(*kernel);
    if (options.strategy == Strategy::Learned)
      model.learn(trials);
    size_t count = std::min(options.batch, options.trials - kernel->search.trials());
    std::vector<Candidate> batch = kernel->search.next(count, model);
    kernel->isExhausted = batch.empty();
    std::vector<Measurement> found = measurer.measure(*kernel->task, batch);
    for (size_t i = 0; i < batch.size(); ++i) {
      TunedRecord record = kernel->task->record(batch[i], 0, 0);
      Trial trial{record.kernel,
                  record.anchor,
                  record.name,
                  record.machine,
                  batch[i],
                  found[i],
                  kernel->search.predictedMicroseconds(batch[i]),
                  kernel->search.featuresOf(batch[i])};
      if (log)
        log->add(trial);
      add(*kernel, std::move(trial));
    }
  }
  return true;
}

TuneReport Tuner::report() const {
  TuneReport report;
  for (const Kernel &kernel : kernels) {
    TunedKernel &entry = report.kernels.emplace_back();
    entry.name = kernel.task->name();
    entry.uses = kernel.task->uses();
    entry.trials = kernel.search.trials();
    entry.defaultMicroseconds = kernel.defaultMicroseconds;
    entry.defaultSchedule = kernel.task->proposed().text();
    entry.failures = kernel.failures;
    if (const Trial *best = kernel.search.best()) {
      entry.ratio = best->measurement.ratio();
      entry.schedule = best->candidate.text();
    }
  }
  return report;
}

std::vector<TunedRecord> Tuner::winners() const {
  std::vector<std::pair<double, TunedRecord>> found;
  for (const Kernel &kernel : kernels)
    if (const Trial *best = kernel.search.best()) {
      const Measurement &measured = best->measurement;
      double saved = (1 - measured.ratio()) * kernel.defaultMicroseconds * kernel.task->uses();
      found.emplace_back(saved, kernel.task->record(best->candidate, measured.microseconds,
                                                    measured.defaultMicroseconds));
    }
  std::ranges::stable_sort(found, std::greater(), [](const auto &each) { return each.first; });
  std::vector<TunedRecord> records;
  for (auto &[saved, record] : found)
    records.push_back(std::move(record));
  return records;
}

namespace {

/// The trials of logs; lines that do not hold are added to `faults`.
std::vector<Trial> trialsIn(const std::filesystem::path &file, std::vector<std::string> &faults) {
  ReadLog log = readLog(file);
  for (const std::string &fault : log.faults)
    faults.push_back(file.filename().string() + ", " + fault);
  return std::move(log.trials);
}

} // namespace

TuneReport tuneModel(const Model &model, const Settings &settings,
                     const std::vector<std::optional<int64_t>> &sizes, const TuneOptions &options,
                     const std::function<void(const TuneProgress &)> &progress) {
  forgoFirstCalibration();
  auto start = Clock::now();
  ModelTasks tasks = tasksOf(model, settings, sizes);
  bool isCounted = std::ranges::any_of(tasks.kernels, [](const auto &task) {
    return task->countedMicroseconds(task->proposed()).has_value();
  });
  // A simulator says nothing of kernels that the host runs in its place.
  if (isCounted)
    std::erase_if(tasks.kernels, [&](const auto &task) {
      bool isOther = !task->countedMicroseconds(task->proposed());
      if (isOther)
        tasks.leftOut.push_back(task->name() + ": it runs on the host");
      return isOther;
    });
  if (tasks.kernels.empty())
    throw Error(ErrorKind::Unsupported,
                model.name() + ": no kernel has a choice of schedules" +
                    (tasks.leftOut.empty() ? "" : ": " + tasks.leftOut.front()));
  std::unique_ptr<Measurer> measurer =
      isCounted ? countBySimulator() : measureInProcess(options.measuring);
  TuneOptions own = options;
  // Confirming takes its part of the time.
  if (!isCounted && !options.store.empty())
    own.seconds = options.seconds * 0.85;
  own.seconds -= secondsSince(start);
  Tuner tuner(std::move(tasks.kernels), *measurer, own);
  std::vector<std::string> faults;
  for (const std::filesystem::path &file : options.experience)
    tuner.takeOver(trialsIn(file, faults));
  std::error_code ignored;
  if (options.resume && std::filesystem::exists(options.log, ignored))
    tuner.takeOver(trialsIn(options.log, faults));
  std::optional<LogWriter> log;
  if (!options.log.empty())
    log.emplace(options.log, options.resume);
  bool isComplete = tuner.run(log ? &*log : nullptr, progress);
  if (!options.log.empty())
    writeChart(options.log);
  TuneReport report = tuner.report();
  report.leftOut = tasks.leftOut;
  report.faults = faults;
  report.isComplete = isComplete;
  if (options.strategy == Strategy::Learned)
    report.model = RankModel::isAvailable() ? Booster::library() : Booster::unsupportedReason();
  std::vector<TunedRecord> winners = tuner.winners();
  if (!isCounted && !winners.empty()) {
    double seconds = std::clamp(options.seconds - secondsSince(start), 2.0, 30.0);
    Confirmation confirmation = confirmed(model, settings, sizes, winners, seconds);
    winners = confirmation.kept;
    report.modelRatio = confirmation.ratio;
  }
  for (TunedKernel &kernel : report.kernels)
    kernel.isKept = std::ranges::any_of(
        winners, [&](const TunedRecord &record) { return record.name == kernel.name; });
  if (!options.store.empty() && !winners.empty())
    changeStore(options.store, winners);
  return report;
}

} // namespace headrace::tune
