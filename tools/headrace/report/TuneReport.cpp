#include "report/TuneReport.h"

#include "report/Table.h"
#include "report/Text.h"
#include "tune/ReportJson.h"
#include <fmt/format.h>

namespace headrace::cli {

std::string durationText(double seconds) {
  if (seconds > 1e8)
    return "no limit";
  return seconds < 120 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

void printTuning(const tune::TuneReport &report, const tune::TuneOptions &options, bool asJson) {
  if (asJson)
    return fmt::print("{}\n", jsonText(tune::json(report, options)));
  using Align = Table::Align;
  Table table({{"kernel", Align::Left},
               {"uses"},
               {"trials"},
               {"failed"},
               {"untuned"},
               {"speedup"},
               {"", Align::Left},
               {"schedule", Align::Left}});
  for (const tune::TunedKernel &kernel : report.kernels)
    table.add({kernel.name, std::to_string(kernel.uses), std::to_string(kernel.trials),
               std::to_string(kernel.failures.size()),
               fmt::format("{:.1f} us", kernel.defaultMicroseconds),
               kernel.ratio < 1 ? fmt::format("{:.2f}x", 1 / kernel.ratio) : "-",
               kernel.ratio >= 1 ? ""
               : kernel.isKept   ? "kept"
                                 : "not kept",
               kernel.ratio < 1 ? kernel.schedule : kernel.defaultSchedule});
  table.print(stdout);
  for (const tune::TunedKernel &kernel : report.kernels)
    for (const std::string &failure : kernel.failures)
      fmt::print("{}: {}\n", printable(kernel.name), printable(failure));
  for (const std::string &reason : report.leftOut)
    fmt::print("not tuned: {}\n", printable(reason));
  for (const std::string &fault : report.faults)
    fmt::print("left out: {}\n", printable(fault));
  if (report.modelRatio)
    fmt::print("the model: {:.3f}x, in turns with the untuned one\n", 1 / *report.modelRatio);
  if (!report.isComplete)
    fmt::print("the budget ended before all trials; --resume goes on\n");
  if (!options.store.empty())
    fmt::print("results: {}\n", printable(options.store.string()));
  fmt::print("log: {}\n", printable(options.log.string()));
}

void printJudgements(const std::vector<tune::Judgement> &judgements, bool asJson) {
  if (asJson) {
    fmt::print("{}\n", jsonText(tune::json(judgements)));
    return;
  }
  Table table({{"ordered by", Table::Align::Left}, {"rank correlation"}, {"kernels"}});
  for (const tune::Judgement &each : judgements)
    table.add({each.what, fmt::format("{:.3f}", each.mean), std::to_string(each.kernels.size())});
  table.print(stdout);
}

} // namespace headrace::cli
