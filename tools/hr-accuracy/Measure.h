// The largest error of a function, on a processor's or a device's code.
#pragma once

#include "runtime/tensor/Tensor.h"

#include "Functions.h"
#include <functional>
#include <optional>
#include <string>

namespace headrace::accuracy {

struct Worst {
  double units = 0;
  std::string at; // argument, result, exact result
};

/// `evaluate` gives the results for arguments; nullopt: it has no such function.
using Evaluate = std::function<Tensor(const std::vector<Tensor> &)>;

Worst measure(const Function &function, DType type, const Evaluate &evaluate, bool all);
Worst measure(const Function2 &function, DType type, const Evaluate &evaluate);

/// As compiled for this processor.
Evaluate onProcessor(std::string_view function, size_t operands, DType type);
/// As device code has it, compiled for the host; empty where the device has no function of its own.
Evaluate onDevice(std::string_view function, DType type);

} // namespace headrace::accuracy
