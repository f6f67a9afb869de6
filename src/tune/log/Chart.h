// The best result over the trials of a log, as a chart beside the log.
#pragma once

#include <filesystem>

namespace headrace::tune {

/// Writes LOG.svg: for each kernel the fastest time so far in relation to the default's, after each
/// trial. Throws Error if the log cannot be read.
void writeChart(const std::filesystem::path &log);

} // namespace headrace::tune
