// Results of quantization, as tables.
#pragma once

#include "quantize/Quantize.h"
#include <filesystem>

namespace headrace::cli {

void printTables(const quantize::Report &report, const std::filesystem::path &written);

} // namespace headrace::cli
