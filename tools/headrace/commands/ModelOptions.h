// The options that several commands share.
#pragma once

#include "driver/Model.h"

#include "tensors/Inputs.h"
#include <CLI/App.hpp>

namespace headrace::cli {

struct ModelOptions {
  std::string path;
  Settings settings;
  /// The file of a recipe; empty: the compiler chooses.
  std::string recipe;
  /// 0: as many as the machine has.
  int threads = 0;
};

void addModelOptions(CLI::App &command, ModelOptions &options);
void addTuningOption(CLI::App &command, std::string &tuning);
void addThreadsOption(CLI::App &command, ModelOptions &options);
void addSizeOption(CLI::App &command, std::vector<std::string> &sizes);
void addInputOptions(CLI::App &command, InputOptions &options);

/// The text of a file; throws Error if it cannot be read.
std::string readText(const std::string &path);

/// From here on the process has as many threads as the options say.
void useThreads(const ModelOptions &options);

/// Loads the model, out of a package if that is open already; from here on the process has as
/// many threads as the options say.
std::shared_ptr<Model> loadModel(const ModelOptions &options, const Package *package = nullptr);

/// Compiles the model for these inputs.
std::shared_ptr<const Executable> compileModel(Model &model, std::span<const Tensor> inputs);

} // namespace headrace::cli
