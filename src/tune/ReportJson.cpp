#include "tune/ReportJson.h"

namespace headrace::tune {

using nlohmann::ordered_json;

static ordered_json json(const TunedKernel &kernel) {
  return {{"name", kernel.name},
          {"uses", kernel.uses},
          {"trials", kernel.trials},
          {"default_us", kernel.defaultMicroseconds},
          {"ratio", kernel.ratio},
          {"schedule", kernel.schedule},
          {"default_schedule", kernel.defaultSchedule},
          {"kept", kernel.isKept},
          {"failures", kernel.failures}};
}

ordered_json json(const TuneReport &report, const TuneOptions &options) {
  ordered_json kernels = ordered_json::array();
  for (const TunedKernel &kernel : report.kernels)
    kernels.push_back(json(kernel));
  return {{"kernels", kernels},
          {"left_out", report.leftOut},
          {"faults", report.faults},
          {"model", report.model},
          {"model_ratio", report.modelRatio ? ordered_json(*report.modelRatio) : ordered_json()},
          {"complete", report.isComplete},
          {"log", options.log.string()},
          {"store", options.store.string()}};
}

ordered_json json(const std::vector<Judgement> &judgements) {
  ordered_json document = ordered_json::array();
  for (const Judgement &each : judgements)
    document.push_back({{"what", each.what}, {"mean", each.mean}, {"kernels", each.kernels}});
  return document;
}

} // namespace headrace::tune
