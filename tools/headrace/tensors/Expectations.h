// Checks of the outputs by --expect.
#pragma once

#include "driver/Model.h"

#include "tensors/Compare.h"
#include <filesystem>
#include <string>
#include <vector>

namespace headrace::cli {

struct Expectation {
  size_t output = 0;
  std::filesystem::path file;
  Tensor tensor;
};

/// Reads the files of "--expect DIR", "--expect FILE" (in the order of the outputs) and
/// "--expect NAME=FILE". Throws Error.
std::vector<Expectation> readExpectations(const Model &model, std::span<const std::string> options);

/// Compares and prints one line for each; throws Error for the first output that differs.
void checkExpectations(const Model &model, std::span<const Expectation> expectations,
                       std::span<const Tensor> outputs, Tolerance tolerance);

} // namespace headrace::cli
