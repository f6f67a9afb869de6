// The results of a model after each pass of the compiler.
#pragma once

#include "driver/Settings.h"
#include "runtime/tensor/Tensor.h"

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace headrace {

/// A pass that changed the program, and the reference's outputs of the program afterwards, floats
/// in f64.
struct PassAnswer {
  std::string phase, pass;
  std::vector<Tensor> outputs;
};

/// Runs the phases up to `kernels`, whose programs the reference evaluates, on an ONNX model that
/// is one program, and calls `visit` after each pass that changes it, until `visit` returns false.
/// Library calls are done by their routines. Returns the name of a pass after which the reference
/// cannot evaluate the program any more, because an accelerator computes part of it; empty
/// otherwise. Throws Error.
std::string visitPassAnswers(const std::filesystem::path &model, const Settings &settings,
                             std::span<const Tensor> inputs,
                             const std::function<bool(const PassAnswer &)> &visit);

} // namespace headrace
