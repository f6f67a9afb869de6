// The largest error of a function, on a CPU's or a device's code.
#pragma once

#include "runtime/tensor/Tensor.h"

#include "Search.h"
#include <functional>
#include <span>
#include <vector>

namespace headrace::accuracy {

/// `evaluate` gives the results for arguments; nullopt: it has no such function.
using Evaluate = std::function<Tensor(const std::vector<Tensor> &)>;

/// At a sample of numbers (Points.h).
Worst measure(const Function &function, DType type, const Evaluate &evaluate);
Worst measure(const Function2 &function, DType type, const Evaluate &evaluate);

/// At every f32 there is, each of the implementations; says on stderr how long it will take.
std::vector<Worst> measureAll(const Function &function, std::span<const Evaluate> implementations);

/// The function as compiled for this CPU.
Evaluate onProcessor(std::string_view function, size_t operands, DType type);
/// The device's implementation, compiled for the host; empty if the device has none.
Evaluate onDevice(std::string_view function, DType type);

} // namespace headrace::accuracy
