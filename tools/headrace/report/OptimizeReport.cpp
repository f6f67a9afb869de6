#include "report/OptimizeReport.h"

#include "report/Table.h"
#include "report/Text.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace headrace::cli {

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

void printMeasured(const std::vector<optimize::MeasuredChange> &changes) {
  Table table({{"step", Table::Align::Left}, {"predicted"}, {"measured"}, {"", Table::Align::Left}});
  for (const optimize::MeasuredChange &change : changes) {
    bool isOff = change.isClear() && change.factor() > 2;
    table.add({printable(change.step), timeChange(change.predictedAfter - change.predictedBefore),
               timeChange(change.measuredAfter - change.measuredBefore),
               !change.isClear() ? "within noise" : isOff ? "off by more than a factor of 2" : ""});
  }
  table.print(stdout);
}

void printBlame(const optimize::Blame &blame) {
  fmt::print("{} before, {} after: {}\n\n", duration(blame.before), duration(blame.after),
             timeChange(blame.after - blame.before));
  Table table({{"step", Table::Align::Left}, {"adds"}});
  for (const optimize::BlamedStep &step : blame.steps)
    table.add({printable(step.step), timeChange(step.microseconds)});
  table.add({"(no step)", timeChange(blame.unexplained())});
  table.print(stdout);
  for (const auto &[step, reason] : blame.left)
    fmt::print("not possible alone: {}: {}\n", printable(step), printable(reason));
}

} // namespace headrace::cli
