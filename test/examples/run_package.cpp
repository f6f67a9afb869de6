// The same as run_package.c, in C++.
#include <cstdlib>
#include <fstream>
#include <headrace/headrace.hpp>
#include <iostream>
#include <iterator>

int main(int argc, char **argv) try {
  std::vector<std::vector<char>> files;
  std::vector<headrace::Input> inputs;
  for (int i = 3; i < argc;) {
    auto type = static_cast<headrace_type>(std::atoi(argv[i++]));
    headrace::Shape shape(static_cast<size_t>(std::atoi(argv[i++])));
    for (int64_t &size : shape)
      size = std::atoll(argv[i++]);
    std::ifstream file(argv[i++], std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    inputs.emplace_back(files.back().data(), type, shape);
  }
  headrace::Package package(argv[1]);
  headrace::Program program = package.program();
  headrace::Result result = program.run(inputs);
  std::ofstream out(argv[2], std::ios::binary);
  for (size_t i = 0; i < program.outputCount(); ++i) {
    size_t bytes = result.elements(i) * (result.at(i).type == HEADRACE_F64 ? 8 : 4);
    out.write(static_cast<const char *>(result.at(i).data), static_cast<std::streamsize>(bytes));
  }
} catch (const headrace::Error &error) {
  std::cerr << error.what() << "\n";
  return 1;
}
