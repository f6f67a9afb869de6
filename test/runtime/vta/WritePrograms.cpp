// write_vta_programs FOLDER: every small program in every configuration, as CONFIGURATION/NAME,
// with what it computes in case.json.
#include "runtime/vta/Programs.h"

#include <cstdio>
#include <exception>
#include <fstream>

int main(int argc, char **argv) {
  using namespace headrace::vta;
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_vta_programs FOLDER\n");
    return 2;
  }
  try {
    for (const std::string &configuration : test::exampleNames())
      for (const test::TestProgram &item :
           test::smallPrograms(test::exampleConfiguration(configuration))) {
        std::filesystem::path folder = std::filesystem::path(argv[1]) / configuration / item.name;
        writeProgram(item.program, folder);
        std::ofstream(folder / "case.json") << item.description << "\n";
      }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "write_vta_programs: %s\n", error.what());
    return 1;
  }
  return 0;
}
