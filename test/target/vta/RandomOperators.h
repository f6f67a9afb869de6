// Operators of all kinds with odd sizes, and legal schedules of them, the same for the same seed.
#pragma once

#include "target/vta/Reference.h"

#include <random>

namespace headrace::vta::test {

class RandomOperators {
public:
  RandomOperators(uint64_t seed, const Configuration &configuration)
      : random(seed), configuration(configuration) {}

  Operator next();
  /// A schedule of any values, not only of those worth trying.
  Schedule schedule(const Operator &op);

private:
  int64_t pick(int64_t least, int64_t most);
  void slide(Sliding &sliding, int64_t windowY, int64_t windowX);
  MaxPool pool(const Image &input);
  /// May give the image other channels, which make groups.
  Convolution convolution(Image &input);
  AluStage stage(int64_t channels);

  std::mt19937_64 random;
  int products = 0;
  const Configuration &configuration;
};

} // namespace headrace::vta::test
