// write_vta_operators FOLDER: operators on proposed and random schedules in every configuration, as
// CONFIGURATION/NAME, with the bytes of the expected output in expected.bin.
#include "target/vta/RandomOperators.h"

#include <cstdio>
#include <exception>
#include <fstream>

namespace headrace::vta::test {
namespace {

void writeOne(const Operator &op, const Schedule &schedule, const Configuration &configuration,
              const std::filesystem::path &folder) {
  std::vector<Tensor> inputs = randomInputs(op, 5);
  writeProgram(programOf(op, schedule, configuration, inputs), folder);
  Tensor expected = expectedOf(op, inputs);
  std::ofstream file(folder / "expected.bin", std::ios::binary);
  file.write(reinterpret_cast<const char *>(expected.as<int8_t>()),
             static_cast<std::streamsize>(expected.bytes()));
}

void writeAll(const std::string &name, const std::filesystem::path &folder) {
  Configuration configuration = exampleConfiguration(name);
  for (int64_t threads : {1, 2}) {
    std::string suffix = "_t" + std::to_string(threads);
    Operator dense = denseOf(128, 128, 128), layer = convolutionOf({14, 64, 64, 3, 1}, 1);
    writeOne(dense, propose(dense, configuration, threads), configuration,
             folder / name / ("dense" + suffix));
    writeOne(layer, propose(layer, configuration, threads), configuration,
             folder / name / ("convolution" + suffix));
  }
  for (uint64_t seed = 0; seed < 12; ++seed) {
    RandomOperators operators(seed, configuration);
    Operator op = operators.next();
    writeOne(op, operators.schedule(op), configuration,
             folder / name / ("random" + std::to_string(seed)));
  }
}

} // namespace
} // namespace headrace::vta::test

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_vta_operators FOLDER\n");
    return 2;
  }
  try {
    for (const char *name : {"block16", "block32", "batch2"})
      headrace::vta::test::writeAll(name, argv[1]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "write_vta_operators: %s\n", error.what());
    return 1;
  }
  return 0;
}
