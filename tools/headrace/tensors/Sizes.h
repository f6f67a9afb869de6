#pragma once

#include "runtime/program/Program.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace::cli {

/// The values of a model's symbols, if they are known.
using Sizes = std::vector<std::optional<int64_t>>;

/// Reads "--size batch=4" options; throws UsageError on bad syntax, Error on unknown names.
Sizes parseSizes(std::span<const std::string> options, std::span<const std::string> symbols);

/// The value of an expression whose symbols are all known.
std::optional<int64_t> valueOf(const DimExpr &expression, const Sizes &sizes);

} // namespace headrace::cli
