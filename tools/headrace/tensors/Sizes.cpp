#include "tensors/Sizes.h"

#include "runtime/system/Error.h"

#include "commands/Commands.h"
#include "report/Text.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace headrace::cli {

Sizes parseSizes(std::span<const std::string> options, std::span<const std::string> symbols) {
  Sizes sizes(symbols.size());
  for (const std::string &option : options) {
    size_t equals = option.rfind('=');
    int64_t value = -1;
    if (equals != std::string::npos) {
      const char *end = option.data() + option.size();
      auto [stop, error] = std::from_chars(option.data() + equals + 1, end, value);
      if (error != std::errc() || stop != end)
        value = -1;
    }
    if (value < 0)
      throw UsageError(fmt::format("--size {}: expected NAME=NUMBER, as in batch=4", option));
    std::string name = option.substr(0, equals);
    auto symbol = std::find(symbols.begin(), symbols.end(), name);
    if (symbol == symbols.end())
      throw Error(ErrorKind::InvalidArgument,
                  fmt::format("--size {}: the model has no dynamic dimension '{}'; it has {}",
                              option, name, quotedList(symbols)));
    std::optional<int64_t> &size = sizes[static_cast<size_t>(symbol - symbols.begin())];
    if (size && *size != value)
      throw Error(ErrorKind::InvalidArgument,
                  fmt::format("--size {}: size '{}' is given twice", option, name));
    size = value;
  }
  return sizes;
}

std::optional<int64_t> valueOf(const DimExpr &expression, const Sizes &sizes) {
  std::vector<int64_t> values;
  values.reserve(sizes.size());
  for (size_t s = 0; s < sizes.size(); ++s) {
    if (!sizes[s] && expression.dependsOn(static_cast<unsigned>(s)))
      return std::nullopt;
    values.push_back(sizes[s].value_or(1));
  }
  return expression.evaluate(values);
}

} // namespace headrace::cli
