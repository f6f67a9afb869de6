#include "report/ExplainReport.h"

#include "runtime/system/Error.h"

#include "report/Table.h"
#include "report/Text.h"
#include "terminal/Console.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::cli {

using json = nlohmann::ordered_json;

namespace {

// Amounts as numbers if the sizes they depend on are known, else as expressions.
class Amounts {
public:
  Amounts(const std::vector<std::string> &symbols, const Sizes &sizes)
      : symbols(symbols), sizes(sizes) {
    this->sizes.resize(symbols.size());
  }

  std::string text(const DimExpr &amount, std::string_view unit) const {
    if (std::optional<int64_t> value = valueOf(amount, sizes))
      return withPrefix(static_cast<double>(*value), unit);
    return amount.str(symbols);
  }

  json number(const DimExpr &amount) const {
    if (std::optional<int64_t> value = valueOf(amount, sizes))
      return *value;
    return amount.str(symbols);
  }

  // Operations per byte; dynamic dimensions count as 1.
  std::optional<double> intensity(const KernelCost &cost) const {
    std::vector<int64_t> values;
    for (const std::optional<int64_t> &size : sizes)
      values.push_back(size.value_or(1));
    try {
      auto bytes = static_cast<double>((cost.bytesRead + cost.bytesWritten).evaluate(values));
      auto operations = static_cast<double>(cost.operations.evaluate(values));
      return bytes > 0 ? std::optional(operations / bytes) : std::nullopt;
    } catch (const Error &) { // sizes of 1 may be outside what the model admits
      return std::nullopt;
    }
  }

  // "batch = 1": the dynamic dimensions.
  std::string openSizes() const {
    std::string text;
    for (size_t s = 0; s < sizes.size(); ++s)
      if (!sizes[s])
        text += fmt::format("{}{} = 1", text.empty() ? "" : ", ", printable(symbols[s]));
    return text;
  }

private:
  const std::vector<std::string> &symbols;
  Sizes sizes;
};

void printMovement(const Explanation &explanation, const Amounts &amounts) {
  const MovementReport &before = explanation.before, &after = explanation.after;
  Table table({{"", Table::Align::Left}, {"before"}, {"after"}});
  auto add = [&](const char *what, const DimExpr &was, const DimExpr &is, std::string_view unit) {
    table.add({what, amounts.text(was, unit), amounts.text(is, unit)});
  };
  table.add({"kernels", std::to_string(before.kernels), std::to_string(after.kernels)});
  add("bytes moved", before.bytesMoved, after.bytesMoved, "B");
  add("operations", before.operations, after.operations, "");
  add("intermediates", before.intermediateBytes, after.intermediateBytes, "B");
  if (explanation.peakBytes >= 0)
    table.add({"peak memory", "", withPrefix(static_cast<double>(explanation.peakBytes), "B")});
  table.add({"constants", "", withPrefix(static_cast<double>(explanation.constantBytes), "B")});
  table.print(stdout);
}

// Whether there is anything to say on where kernels run: the host runs all of most programs.
bool namesEngines(const Explanation &explanation) {
  return std::ranges::any_of(explanation.kernels, [](const KernelReport &kernel) {
    return kernel.where != hostEngine || !kernel.unsupportedReason.empty();
  });
}

/// The least bytes that any schedule moves between the core's own caches and what lies beyond.
std::string leastText(const KernelReport &kernel) {
  if (!kernel.prediction || kernel.prediction->least.empty())
    return "-";
  return withPrefix(kernel.prediction->least.back().bytes, "B");
}

std::string timeText(const KernelReport &kernel) {
  return kernel.prediction ? fmt::format("{:.1f} us", kernel.prediction->microseconds) : "-";
}

void printKernels(const Explanation &explanation, const Amounts &amounts) {
  using Align = Table::Align;
  bool showsWhere = namesEngines(explanation);
  std::vector<Table::Column> columns = {{"kernel", Align::Left},
                                        {"kind", Align::Left},
                                        {"read"},
                                        {"written"},
                                        {"at least"},
                                        {"saved"},
                                        {"predicted"},
                                        {"operations"},
                                        {"ops/byte"},
                                        {"intermediates"},
                                        {"operators", Align::Left},
                                        {"schedule", Align::Left}};
  if (showsWhere)
    columns.insert(columns.begin() + 1, {"where", Align::Left});
  Table table(columns);
  for (const KernelReport &kernel : explanation.kernels) {
    std::optional<double> intensity = amounts.intensity(kernel.cost);
    std::vector<std::string> row = {kernel.name,
                                    kernel.kind,
                                    amounts.text(kernel.cost.bytesRead, "B"),
                                    amounts.text(kernel.cost.bytesWritten, "B"),
                                    leastText(kernel),
                                    amounts.text(kernel.cost.bytesSaved, "B"),
                                    timeText(kernel),
                                    amounts.text(kernel.cost.operations, ""),
                                    intensity ? fmt::format("{:.2f}", *intensity) : "-",
                                    amounts.text(kernel.cost.intermediateBytes, "B"),
                                    shortList(kernel.operators),
                                    kernel.schedule};
    if (showsWhere)
      row.insert(row.begin() + 1, kernel.where);
    table.add(row);
  }
  table.print(stdout);
  for (const KernelReport &kernel : explanation.kernels) {
    if (!kernel.unsupportedReason.empty())
      fmt::print("{} runs on {}: {}\n", kernel.name, kernel.where, kernel.unsupportedReason);
    if (!kernel.notes.empty())
      fmt::print("{}: {}\n", kernel.name, kernel.notes);
    if (!kernel.source.empty())
      fmt::print("{}: source: {}\n", kernel.name, kernel.source);
  }
  if (std::string open = amounts.openSizes(); !open.empty())
    fmt::print("ops/byte for {}; --size gives other values\n", open);
  if (!explanation.rates.empty())
    fmt::print("times by the machine parameters of {}\n", printable(explanation.rates));
}

/// What a report on a split model before its first run leaves out.
void printKnownAfterRun(const Explanation &explanation) {
  if (explanation.knownAfterRun.empty())
    return;
  fmt::print("\nknown after a run only:\n");
  for (const UnknownNode &node : explanation.knownAfterRun)
    fmt::print("  {}: {}\n", printable(node.node), printable(node.reason));
  if (explanation.followers > 0)
    fmt::print("  and {} nodes that read their results\n", explanation.followers);
}

void printPhases(const Explanation &explanation) {
  Table table({{"phase", Table::Align::Left}, {"time"}});
  double total = 0;
  for (const auto &[phase, milliseconds] : explanation.phaseMilliseconds) {
    table.add({phase, fmt::format("{:.2f} ms", milliseconds)});
    total += milliseconds;
  }
  table.add({"total", fmt::format("{:.2f} ms", total)});
  table.print(stdout);
}

json movementJson(const MovementReport &movement, const Amounts &amounts) {
  return {{"kernels", movement.kernels},
          {"bytes_moved", amounts.number(movement.bytesMoved)},
          {"operations", amounts.number(movement.operations)},
          {"intermediate_bytes", amounts.number(movement.intermediateBytes)}};
}

json sharesJson(const KernelReport &kernel) {
  json shares = json::object();
  if (kernel.prediction)
    for (const auto &[resource, share] : kernel.prediction->shares)
      shares[resource] = share;
  return shares;
}

/// Rows of a cache's bytes, and the least bytes that any schedule moves between it and what lies
/// beyond.
json leastJson(const KernelReport &kernel) {
  json least = json::array();
  if (kernel.prediction)
    for (const KernelPrediction::Least &bound : kernel.prediction->least)
      least.push_back({bound.cacheBytes, bound.bytes});
  return least;
}

json kernelJson(const KernelReport &kernel, const Amounts &amounts) {
  std::optional<double> intensity = amounts.intensity(kernel.cost);
  return {{"name", kernel.name},
          {"operators", kernel.operators},
          {"kind", kernel.kind},
          {"schedule", kernel.schedule},
          {"recipe", kernel.recipe},
          {"source", kernel.source},
          {"notes", kernel.notes},
          {"where", kernel.where},
          {"why_not", kernel.unsupportedReason},
          {"bytes_read", amounts.number(kernel.cost.bytesRead)},
          {"bytes_written", amounts.number(kernel.cost.bytesWritten)},
          {"bytes_saved", amounts.number(kernel.cost.bytesSaved)},
          {"operations", amounts.number(kernel.cost.operations)},
          {"intermediate_bytes", amounts.number(kernel.cost.intermediateBytes)},
          {"workspace_bytes", kernel.workspaceBytes},
          {"intensity", intensity ? json(*intensity) : json()},
          {"predicted_us", kernel.prediction ? json(kernel.prediction->microseconds) : json()},
          {"shares", sharesJson(kernel)},
          {"least_bytes", leastJson(kernel)}};
}

json bufferJson(const BufferReport &buffer, const Amounts &amounts) {
  const char *kind = buffer.kind == BufferInfo::Kind::Input    ? "input"
                     : buffer.kind == BufferInfo::Kind::Output ? "output"
                                                               : "temporary";
  return {{"kind", kind},
          {"name", buffer.name},
          {"where", buffer.where},
          {"bytes", amounts.number(buffer.bytes)},
          {"first", buffer.first},
          {"last", buffer.last},
          {"offset", buffer.offset ? json(*buffer.offset) : json()}};
}

json explanationJson(const Explanation &explanation, const Sizes &sizes) {
  Amounts amounts(explanation.symbols, sizes);
  json kernels = json::array(), phases = json::array(), reasons = json::array();
  json buffers = json::array(), unknown = json::array();
  for (const UnknownNode &node : explanation.knownAfterRun)
    unknown.push_back({{"node", node.node}, {"reason", node.reason}});
  for (const BufferReport &buffer : explanation.buffers)
    buffers.push_back(bufferJson(buffer, amounts));
  for (const MissedOptimization &why : explanation.missedOptimizations)
    reasons.push_back({{"step", why.step},
                       {"reason", why.reason},
                       {"bytes", why.bytes ? amounts.number(*why.bytes) : json()},
                       {"saved_us", why.microseconds ? json(*why.microseconds) : json()}});
  for (const KernelReport &kernel : explanation.kernels)
    kernels.push_back(kernelJson(kernel, amounts));
  for (const auto &[phase, milliseconds] : explanation.phaseMilliseconds)
    phases.push_back({{"name", phase}, {"milliseconds", milliseconds}});
  return {{"model", explanation.name},
          {"symbols", explanation.symbols},
          {"before", movementJson(explanation.before, amounts)},
          {"after", movementJson(explanation.after, amounts)},
          {"kernels", kernels},
          {"recipe", explanation.recipe},
          {"why_not", reasons},
          {"planning", explanation.planning},
          {"rates", explanation.rates},
          {"peak_bytes", explanation.peakBytes >= 0 ? json(explanation.peakBytes) : json()},
          {"constant_bytes", explanation.constantBytes},
          {"buffers", buffers},
          {"known_after_run", unknown},
          {"followers", explanation.followers},
          {"phases", phases}};
}

DimExpr bytesOf(const TensorSpec &spec) {
  DimExpr bytes = DimExpr::constant(static_cast<int64_t>(sizeOf(spec.dtype)));
  for (const DimExpr &dim : spec.dims)
    bytes = bytes * dim;
  return bytes;
}

DimExpr bytesOf(const std::vector<TensorSpec> &specs) {
  DimExpr total = DimExpr::constant(0);
  for (const TensorSpec &spec : specs)
    total = total + bytesOf(spec);
  return total;
}

/// Whether a step speaks of the operator: "fuse conv1/pad into relu1" does of conv1 and relu1.
bool namesOperator(const std::string &step, const std::string &name) {
  for (size_t at = step.find(name); at != std::string::npos; at = step.find(name, at + 1)) {
    size_t end = at + name.size();
    if (at > 0 && step[at - 1] == ' ' &&
        (end == step.size() || step[end] == ' ' || step[end] == '/'))
      return true;
  }
  return false;
}

} // namespace

void printJson(const std::vector<PhaseInfo> &phases) {
  json document = json::array();
  for (const PhaseInfo &phase : phases)
    document.push_back({{"name", phase.name}, {"summary", phase.summary}});
  fmt::print("{}\n", jsonText(document));
}

void printTables(const Explanation &explanation, const Sizes &sizes) {
  Amounts amounts(explanation.symbols, sizes);
  fmt::print("{}\n\n", styled(stdout, Style::Bold, printable(explanation.name)));
  printMovement(explanation, amounts);
  fmt::print("\n");
  printKernels(explanation, amounts);
  printKnownAfterRun(explanation);
  if (explanation.phaseMilliseconds.empty()) // compiled elsewhere
    return;
  fmt::print("\n");
  printPhases(explanation);
}

bool speaksOf(const Explanation &explanation, const std::string &name) {
  return std::ranges::any_of(explanation.kernels,
                             [&](const KernelReport &kernel) {
                               return kernel.name == name ||
                                      std::ranges::find(kernel.operators, name) !=
                                          kernel.operators.end();
                             }) ||
         std::ranges::any_of(explanation.missedOptimizations, [&](const MissedOptimization &why) {
           return namesOperator(why.step, name);
         });
}

void printReasons(const Explanation &explanation, const Sizes &sizes, const std::string &of) {
  using Align = Table::Align;
  Amounts amounts(explanation.symbols, sizes);
  Table table({{"missed optimization", Align::Left},
               {"because", Align::Left},
               {"would save"},
               {"of time"}});
  size_t shown = 0;
  for (const MissedOptimization &why : explanation.missedOptimizations)
    if (of.empty() || namesOperator(why.step, of)) {
      table.add({why.step, why.reason, why.bytes ? amounts.text(*why.bytes, "B") : "-",
                 why.microseconds ? fmt::format("{:.1f} us", *why.microseconds) : "-"});
      ++shown;
    }
  for (const KernelReport &kernel : explanation.kernels)
    if (!kernel.notes.empty() && (of.empty() || kernel.name == of)) {
      table.add({kernel.name, kernel.notes, "-", "-"});
      ++shown;
    }
  if (of.empty() && !explanation.planning.empty())
    fmt::print("{}\n\n", explanation.planning);
  if (shown > 0)
    table.print(stdout);
  else
    fmt::print("{}\n", of.empty() ? "no missed optimizations"
                                  : fmt::format("no missed optimizations for '{}'", printable(of)));
}

void printJson(const Explanation &explanation, const Sizes &sizes) {
  fmt::print("{}\n", jsonText(explanationJson(explanation, sizes)));
}

void printReasons(const GradientExplanation &explanation, const Sizes &sizes,
                  const std::string &of) {
  for (const Explanation *part : {&explanation.forward, &explanation.backward}) {
    fmt::print("{}\n", styled(stdout, Style::Bold, printable(part->name)));
    printReasons(*part, sizes, of);
  }
}

void printTables(const GradientExplanation &explanation, const Sizes &sizes) {
  printTables(explanation.forward, sizes);
  fmt::print("\n");
  printTables(explanation.backward, sizes);
  Amounts amounts(explanation.symbols, sizes);
  fmt::print("\n");
  Table table({{"saved in addition to inputs and outputs", Table::Align::Left}, {"bytes"}});
  for (const TensorSpec &spec : explanation.kept)
    table.add({spec.name, amounts.text(bytesOf(spec), "B")});
  table.add({"total", amounts.text(bytesOf(explanation.kept), "B")});
  table.print(stdout);
  fmt::print("computed again: {}\n",
             explanation.computedAgain.empty() ? "nothing" : shortList(explanation.computedAgain));
}

void printJson(const GradientExplanation &explanation, const Sizes &sizes) {
  Amounts amounts(explanation.symbols, sizes);
  json kept = json::array();
  for (const TensorSpec &spec : explanation.kept)
    kept.push_back({{"name", spec.name}, {"bytes", amounts.number(bytesOf(spec))}});
  json document = {{"forward", explanationJson(explanation.forward, sizes)},
                   {"backward", explanationJson(explanation.backward, sizes)},
                   {"kept", kept},
                   {"kept_bytes", amounts.number(bytesOf(explanation.kept))},
                   {"computed_again", explanation.computedAgain}};
  fmt::print("{}\n", jsonText(document));
}

} // namespace headrace::cli
