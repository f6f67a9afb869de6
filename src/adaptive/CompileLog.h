// The log of compilations: one line for each version of a program that is compiled, kept, replaced
// or dropped, as PrintCompilation of a Java machine has it.
//
//   [  0.213 s] compiled digits.onnx (batch >= 2) in 81.2 ms: first call with such sizes
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace headrace::adaptive {

enum class VersionEvent {
  Compiled, ///< a version was made
  Kept,     ///< the version goes on to serve calls that another one was to serve
  Replaced, ///< another version serves its calls from now on, or some of them
  Dropped,  ///< nobody used it for the longest time, and the store is full
};

/// The name of a version in the log: its program, and what it was compiled for ("batch = 5").
struct VersionName {
  std::string program, sizes;
};

/// Where lines go; an empty writer: nowhere, as at the start.
using LogWriter = std::function<void(const std::string &line)>;
void logCompilations(LogWriter writer);
/// Logs to standard error.
void logCompilations();

/// Whether anybody reads the log; a name need not be made otherwise.
bool isCompilationLogged();
/// Writes a line. Any thread may.
void logVersion(VersionEvent event, const VersionName &version, const std::string &cause,
                std::optional<double> milliseconds = std::nullopt);

} // namespace headrace::adaptive
