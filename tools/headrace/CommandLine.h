#pragma once

namespace headrace::cli {

/// Carries out a command line, prints its output, and gives the process's exit code. Takes over
/// SIGINT.
int runCommandLine(int argc, char **argv);

} // namespace headrace::cli
