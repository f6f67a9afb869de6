// The command line with the toy among its targets.
#include "CommandLine.h"
#include "Toy.h"

int main(int argc, char **argv) {
  headrace::toy::addToy();
  return headrace::cli::runCommandLine(argc, argv);
}
