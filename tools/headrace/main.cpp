#include "CommandLine.h"

int main(int argc, char **argv) { return headrace::cli::runCommandLine(argc, argv); }
