#pragma once

namespace headrace::cli {

/// Does what a command line asks, prints what it has to say, and gives the process's exit code.
/// Takes over SIGINT.
int runCommandLine(int argc, char **argv);

} // namespace headrace::cli
