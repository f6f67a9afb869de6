#include "Bindings.h"
#include <algorithm>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace headrace::python {

namespace {

// Turns amounts into numbers if the sizes they depend on are given.
class Amounts {
public:
  Amounts(const std::vector<std::string> &names, const std::vector<std::string> &symbols,
          const std::vector<std::optional<int64_t>> &sizes)
      : names(names) {
    for (const std::string &name : names) {
      auto found = std::find(symbols.begin(), symbols.end(), name);
      size_t index = static_cast<size_t>(found - symbols.begin());
      bool given = index < sizes.size() && sizes[index].has_value();
      known.push_back(given);
      values.push_back(given ? *sizes[index] : 0);
    }
  }

  nb::object operator()(const DimExpr &amount) const {
    for (size_t i = 0; i < known.size(); ++i)
      if (!known[i] && amount.dependsOn(static_cast<unsigned>(i)))
        return dimensionToPython(amount, names);
    return nb::int_(amount.evaluate(values));
  }

private:
  const std::vector<std::string> &names;
  std::vector<bool> known;
  std::vector<int64_t> values;
};

nb::dict movementToPython(const MovementReport &report, const Amounts &amount) {
  nb::dict dict;
  dict["kernels"] = report.kernels;
  dict["bytes_moved"] = amount(report.bytesMoved);
  dict["operations"] = amount(report.operations);
  dict["intermediate_bytes"] = amount(report.intermediateBytes);
  return dict;
}

nb::dict kernelToPython(const KernelReport &report, const Amounts &amount) {
  nb::dict dict;
  dict["name"] = report.name;
  dict["operators"] = report.operators;
  dict["kind"] = report.kind;
  dict["schedule"] = report.schedule;
  dict["recipe"] = report.recipe;
  dict["source"] = report.source;
  dict["notes"] = report.notes;
  dict["where"] = report.where;
  dict["why_not"] = report.unsupportedReason;
  dict["bytes_read"] = amount(report.cost.bytesRead);
  dict["bytes_written"] = amount(report.cost.bytesWritten);
  dict["bytes_saved"] = amount(report.cost.bytesSaved);
  dict["operations"] = amount(report.cost.operations);
  dict["intermediate_bytes"] = amount(report.cost.intermediateBytes);
  dict["workspace_bytes"] = report.workspaceBytes;
  dict["predicted_us"] =
      report.prediction ? nb::object(nb::float_(report.prediction->microseconds)) : nb::none();
  nb::dict shares;
  nb::list least;
  if (report.prediction) {
    for (const auto &[resource, share] : report.prediction->shares)
      shares[nb::cast(resource)] = share;
    for (const KernelPrediction::Least &bound : report.prediction->least)
      least.append(nb::make_tuple(bound.cacheBytes, bound.bytes));
  }
  dict["shares"] = shares;
  dict["least_bytes"] = least;
  return dict;
}

} // namespace

nb::object dimensionToPython(const DimExpr &dim, const std::vector<std::string> &symbols) {
  if (std::optional<int64_t> value = dim.asConstant())
    return nb::int_(*value);
  return nb::cast(dim.str(symbols));
}

nb::dict explanationToPython(const Explanation &explanation,
                             const std::vector<std::string> &symbols,
                             const std::vector<std::optional<int64_t>> &sizes) {
  Amounts amount(explanation.symbols, symbols, sizes);
  nb::list kernels;
  for (const KernelReport &kernel : explanation.kernels)
    kernels.append(kernelToPython(kernel, amount));
  nb::dict milliseconds;
  for (const auto &[phase, time] : explanation.phaseMilliseconds)
    milliseconds[nb::cast(phase)] = time;

  nb::dict dict;
  dict["name"] = explanation.name;
  dict["recipe"] = explanation.recipe;
  dict["symbols"] = explanation.symbols;
  dict["before"] = movementToPython(explanation.before, amount);
  dict["after"] = movementToPython(explanation.after, amount);
  dict["kernels"] = kernels;
  nb::list reasons;
  for (const MissedOptimization &why : explanation.missedOptimizations) {
    nb::dict entry;
    entry["step"] = why.step;
    entry["reason"] = why.reason;
    entry["bytes"] = why.bytes ? amount(*why.bytes) : nb::none();
    entry["saved_us"] = why.microseconds ? nb::object(nb::float_(*why.microseconds)) : nb::none();
    reasons.append(entry);
  }
  dict["why_not"] = reasons;
  nb::list unknown;
  for (const UnknownNode &node : explanation.knownAfterRun) {
    nb::dict entry;
    entry["node"] = node.node;
    entry["reason"] = node.reason;
    unknown.append(entry);
  }
  dict["known_after_run"] = unknown;
  dict["followers"] = explanation.followers;
  dict["planning"] = explanation.planning;
  dict["rates"] = explanation.rates;
  dict["peak_bytes"] =
      explanation.peakBytes < 0 ? nb::none() : nb::object(nb::int_(explanation.peakBytes));
  dict["constant_bytes"] = explanation.constantBytes;
  dict["phase_milliseconds"] = milliseconds;
  return dict;
}

} // namespace headrace::python
