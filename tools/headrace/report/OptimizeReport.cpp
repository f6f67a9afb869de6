#include "report/OptimizeReport.h"

#include "report/Table.h"
#include "report/Text.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::cli {

using json = nlohmann::ordered_json;
using optimize::Figures;
using optimize::Transformation;

namespace {

std::string signedText(double value, std::string_view unit) {
  if (value == 0)
    return "0";
  return (value > 0 ? "+" : "-") + withPrefix(std::abs(value), unit);
}

std::string timeChange(double microseconds) { return fmt::format("{:+.1f} us", microseconds); }

double peakChange(const Figures &before, const Figures &after) {
  return before.peakBytes && after.peakBytes
             ? static_cast<double>(*after.peakBytes - *before.peakBytes)
             : 0;
}

std::vector<std::string> changeCells(const Figures &before, const Figures &after) {
  return {timeChange(after.microseconds - before.microseconds),
          signedText(static_cast<double>(after.bytes - before.bytes), "B"),
          signedText(static_cast<double>(after.operations - before.operations), ""),
          fmt::format("{:+}", after.kernels - before.kernels),
          signedText(peakChange(before, after), "B")};
}

const std::vector<Table::Column> kChangeColumns = {
    {"time"}, {"bytes"}, {"operations"}, {"kernels"}, {"peak"}};

} // namespace

json figuresJson(const Figures &figures) {
  return {{"predicted_us", figures.microseconds},
          {"bytes", figures.bytes},
          {"operations", figures.operations},
          {"kernels", figures.kernels},
          {"peak_bytes", figures.peakBytes ? json(*figures.peakBytes) : json()}};
}

json transformationJson(const Transformation &each) {
  bool isLegal = each.isLegal();
  return {{"step", each.step},
          {"verb", each.verb},
          {"kernels", each.kernels},
          {"legal", isLegal},
          {"why_not", each.refused},
          {"saved_us", isLegal ? json(each.savedMicroseconds()) : json()},
          {"after", isLegal ? figuresJson(each.after) : json()},
          {"dropped", each.dropped},
          {"added", each.added}};
}

json historyJson(const optimize::Optimizer &optimizer) {
  json states = json::array();
  for (const optimize::State &state : optimizer.states())
    states.push_back({{"step", state.step}, {"figures", figuresJson(state.figures)}});
  return {{"position", optimizer.position()}, {"states", states}};
}

void printTransformations(const std::vector<Transformation> &all, size_t most) {
  std::vector<Table::Column> columns{{"step", Table::Align::Left}};
  columns.insert(columns.end(), kChangeColumns.begin(), kChangeColumns.end());
  Table possible(columns);
  Table refused({{"not possible", Table::Align::Left}, {"because", Table::Align::Left}});
  size_t legal = 0, others = 0;
  for (const Transformation &each : all) {
    std::vector<std::string> cells{printable(each.step)};
    if (each.isLegal() && legal++ < most) {
      std::vector<std::string> changes = changeCells(each.before, each.after);
      cells.insert(cells.end(), changes.begin(), changes.end());
      possible.add(cells);
    } else if (!each.isLegal() && others++ < most) {
      cells.push_back(printable(each.refused));
      refused.add(cells);
    }
  }
  possible.print(stdout);
  if (legal > most)
    fmt::print("... {} more\n", legal - most);
  if (others > 0) {
    fmt::print("\n");
    refused.print(stdout);
  }
  if (others > most)
    fmt::print("... {} more\n", others - most);
}

void printHistory(const optimize::Optimizer &optimizer) {
  std::vector<Table::Column> columns{{""}, {"step", Table::Align::Left}};
  for (const char *name : {"predicted", "bytes", "operations", "kernels", "peak"})
    columns.push_back({name});
  Table table(columns);
  const std::vector<optimize::State> &states = optimizer.states();
  for (size_t i = 0; i < states.size(); ++i) {
    const Figures &figures = states[i].figures;
    auto amount = [](int64_t value, const char *unit) {
      return withPrefix(static_cast<double>(value), unit);
    };
    table.add({i == optimizer.position() ? "*" : "",
               i == 0 ? "(start)" : printable(states[i].step), duration(figures.microseconds),
               amount(figures.bytes, "B"), amount(figures.operations, ""),
               std::to_string(figures.kernels),
               figures.peakBytes ? amount(*figures.peakBytes, "B") : "-"});
  }
  table.print(stdout);
}

} // namespace headrace::cli
