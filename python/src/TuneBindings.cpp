// Tuning of a model's kernels. The report is JSON, which the Python file reads.
#include "Bindings.h"
#include "Interpreter.h"
#include "tune/ReportJson.h"
#include "tune/Tuner.h"
#include "tune/store/TunedStore.h"
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace headrace::python {

namespace {

std::string tuned(const std::shared_ptr<Model> &model, const Settings &settings,
                  const std::vector<std::optional<int64_t>> &sizes, size_t trials, double seconds,
                  uint64_t seed, const std::filesystem::path &log, bool resume,
                  const nb::object &progress) {
  tune::TuneOptions options;
  options.trials = trials;
  options.seconds = seconds;
  options.seed = seed;
  options.log = log;
  options.resume = resume;
  if (settings.tuning != "never")
    options.store = settings.tuning == "auto" ? tune::TunedStore::userFile()
                                              : std::filesystem::path(settings.tuning);
  std::function<void(const tune::TuneProgress &)> show;
  if (!progress.is_none())
    show = [&](const tune::TuneProgress &now) {
      double gain = now.bestMicroseconds > 0 ? now.defaultMicroseconds / now.bestMicroseconds : 1.0;
      withInterpreter([&] {
        try {
          progress(now.trial, now.trials, gain, now.secondsLeft, now.kernel);
        } catch (nb::python_error &error) {
          error.discard_as_unraisable("headrace.tune, progress");
        }
      });
    };
  return unlocked([&] {
    tune::TuneReport report = tune::tuneModel(*model, settings, sizes, options, show);
    return tune::json(report, options)
        .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  });
}

} // namespace

void registerTune(nb::module_ &module) {
  module.def("tune", &tuned, nb::arg("model"), nb::arg("settings"), nb::arg("sizes"),
             nb::arg("trials"), nb::arg("seconds"), nb::arg("seed"), nb::arg("log"),
             nb::arg("resume"), nb::arg("progress").none());
}

} // namespace headrace::python
