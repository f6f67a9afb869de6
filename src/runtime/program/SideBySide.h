#pragma once

#include "runtime/program/Binding.h"

namespace headrace {

/// Notes which steps run at the same time, each on one thread (`StepFacts::together`): neighbours
/// whose kernels are worth a thread of their own, have nothing to share among threads, and take
/// nothing from each other, as the two directions of a recurrent layer. Returns whether there are
/// any. Temporaries of such steps must be apart (`planTemporaries`).
bool findSideBySide(const Program &program, std::span<const double> work,
                    std::vector<Binding::StepFacts> &steps);

} // namespace headrace
