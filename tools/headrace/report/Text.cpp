#include "report/Text.h"

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace headrace::cli {

std::string printable(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    // C1 controls are two bytes in UTF-8: C2 80 to C2 9F.
    bool c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    clean += byte < 0x20 || byte == 0x7f || c1 ? '?' : text[i];
    i += c1 ? 1 : 0;
  }
  return clean;
}

namespace {

std::string threeDigits(double value) {
  double magnitude = std::abs(value);
  int decimals = magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

} // namespace

std::string withPrefix(double value, std::string_view unit) {
  constexpr std::array<const char *, 6> prefixes = {"", "k", "M", "G", "T", "P"};
  size_t index = 0;
  while (std::abs(value) >= 999.5 && index + 1 < prefixes.size()) {
    value /= 1000;
    ++index;
  }
  std::string number =
      index == 0 && value == std::floor(value) ? fmt::format("{:.0f}", value) : threeDigits(value);
  std::string suffix = fmt::format("{}{}", prefixes[index], unit);
  return suffix.empty() ? number : number + " " + suffix;
}

std::string duration(double microseconds) {
  if (microseconds < 999.5)
    return threeDigits(microseconds) + " us";
  if (microseconds < 999.5e3)
    return threeDigits(microseconds / 1e3) + " ms";
  return threeDigits(microseconds / 1e6) + " s";
}

std::string specText(const TensorSpec &spec, std::span<const std::string> symbols) {
  std::vector<std::string> dims;
  dims.reserve(spec.dims.size());
  for (const DimExpr &dim : spec.dims)
    dims.push_back(dim.str(symbols));
  return fmt::format("{} {}", nameOf(spec.dtype),
                     dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, " x ")));
}

std::string typeText(const Tensor &tensor) {
  return fmt::format("{} {}", nameOf(tensor.dtype()), shapeString(tensor.shape()));
}

std::string shortList(std::span<const std::string> names) {
  constexpr size_t maxLength = 48;
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0 && text.size() + names[i].size() > maxLength)
      return text + fmt::format(" (+{})", names.size() - i);
    text += (i ? ", " : "") + names[i];
  }
  return text;
}

std::string jsonText(const nlohmann::ordered_json &document) {
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string quotedList(std::span<const std::string> names) {
  if (names.empty())
    return "none";
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    const char *separator = i == 0 ? "" : i + 1 == names.size() ? " and " : ", ";
    text += fmt::format("{}'{}'", separator, names[i]);
  }
  return text;
}

} // namespace headrace::cli
