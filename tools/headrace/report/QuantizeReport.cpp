#include "report/QuantizeReport.h"

#include "report/Table.h"
#include "report/Text.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace headrace::cli {

using quantize::OperatorReport;
using quantize::Report;
using Form = OperatorReport::Form;

// A power of two as one: "2^-7".
static std::string scaleText(float scale) {
  int exponent;
  if (std::frexp(scale, &exponent) == 0.5f)
    return fmt::format("2^{}", exponent - 1);
  return fmt::format("{:.4g}", scale);
}

static std::string scalesText(const std::vector<float> &scales) {
  if (scales.empty())
    return "";
  auto [least, greatest] = std::ranges::minmax_element(scales);
  if (*least == *greatest)
    return scaleText(*least);
  return fmt::format("{} .. {}", scaleText(*least), scaleText(*greatest));
}

static std::string decibelText(double value) {
  if (std::isnan(value))
    return "";
  return std::isinf(value) ? "exact" : fmt::format("{:.1f}", value);
}

static std::string joined(const std::vector<std::string> &words) {
  return fmt::format("{}", fmt::join(words, "+"));
}

static std::string formText(const OperatorReport &line) {
  switch (line.form) {
  case Form::Integers:
    return "int8";
  case Form::KeepsScale:
    return "int8, scale kept";
  case Form::Float:
    return "float: " + line.reason;
  }
  return "";
}

void printTables(const Report &report, const std::filesystem::path &written) {
  Table table({{"operator", Table::Align::Left},
               {"kind", Table::Align::Left},
               {"form", Table::Align::Left},
               {"range"},
               {"input scale"},
               {"weight scale"},
               {"output scale"},
               {"SQNR dB"}});
  for (const OperatorReport &line : report.operators) {
    bool isFloat = line.form == Form::Float;
    table.add({printable(line.name), joined(line.kinds), formText(line),
               isFloat ? "" : fmt::format("{:.4g} .. {:.4g}", line.least, line.greatest),
               scalesText(line.inputScales), scalesText(line.weightScales),
               isFloat ? "" : scaleText(line.outputScale), decibelText(line.signalToNoise)});
  }
  table.print(stdout);
  auto count = [&](Form form) {
    return std::ranges::count(report.operators, form, &OperatorReport::form);
  };
  fmt::print("\n{} operators in int8, {} keep their scale, {} float; {} samples\n",
             count(Form::Integers), count(Form::KeepsScale), count(Form::Float), report.samples);
  fmt::print("constants: {} before, {} after\n",
             withPrefix(static_cast<double>(report.weightBytesBefore), "B"),
             withPrefix(static_cast<double>(report.weightBytesAfter), "B"));
  for (const quantize::OutputReport &output : report.outputs)
    fmt::print("output {}: SQNR {} dB\n", printable(output.name),
               decibelText(output.signalToNoise));
  fmt::print("wrote {} ({})\n", printable(written.string()),
             withPrefix(static_cast<double>(std::filesystem::file_size(written)), "B"));
}

} // namespace headrace::cli
