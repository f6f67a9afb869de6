// Every setting of the compiler, in one typed place.
#pragma once

#include "targets/Host.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

/// The options of compilation that users set.
struct Settings {
  /// The machine to compile for: "cpu" or "cuda", or a certain CPU, as in "cpu:x86-64-v3",
  /// "cuda:sm_90a".
  std::string target = hostTarget;
  /// The CPU that runs the kernels which the target cannot run.
  std::string fallback = hostTarget;
  /// Contractions and convolutions: "auto" chooses by estimated time; a name of `expansionChoices`
  /// forces that one if the target has it.
  std::string expansion = "auto";
  /// The file of an accelerator with intrinsics of its own: the program is written as it was mapped
  /// to it, and compiled for the target from there. Empty: from what the user wrote.
  std::string accelerator;
  /// Choices that the compiler follows, as the text of a recipe
  /// (transform/choices/ProgramRecipe.h). The compiler makes every choice that the recipe omits;
  /// all of them if it is empty.
  std::string recipe;
  /// Results of tuning that kernels take their schedules from (tune/store/TunedStore.h), where a
  /// recipe does not say otherwise: "auto": those in the user's cache; "never"; or those in the
  /// file of this path.
  std::string tuning = "auto";
  /// Which program of a package; empty for the only one.
  std::string program;
  /// Weights are packed for vectors of at least this many bytes, so that code for several CPUs
  /// shares them.
  int64_t sharedVectorBytes = 0;
  /// Versions of one program for different sizes that are kept.
  size_t planCacheSize = 16;
  /// When a program with dynamic dimensions gets versions for exact ones: "auto" once calls of some
  /// sizes have taken as long as compiling did, in the background; "always" for each call's, before
  /// it runs; "never".
  std::string specialize = "auto";
  /// How often the time of compiling that is, with "auto".
  double specializeAfter = 1;
  /// How often bodies of a model's loops may run in one call; 0: HEADRACE_MAX_ITERATIONS, or 10^8.
  int64_t maxIterations = 0;
  /// Inputs of an ONNX model that have defaults, initializers of their names, and are given
  /// instead.
  std::vector<std::string> givenInputs;
};

/// The values that `expansion` may have on any target: "auto, generated, openblas, cublas or
/// cudnn".
std::string expansionChoices();

} // namespace headrace
