#pragma once

#include "runtime/program/Program.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace headrace::cli {

/// A file name for each output: its name if that is harmless, and no two alike.
std::vector<std::string> outputFileNames(std::span<const TensorSpec> outputs);

/// Writes the outputs as .npy files into the directory, made if it is not there, and returns their
/// paths. Throws Error.
std::vector<std::filesystem::path> writeOutputs(const std::filesystem::path &folder,
                                                std::span<const TensorSpec> specs,
                                                std::span<const Tensor> outputs);

} // namespace headrace::cli
