// Configurations, numbers and arithmetic that tests of the accelerator and of its schedules share.
#pragma once

#include "runtime/tensor/Tensor.h"
#include "runtime/vta/Configuration.h"
#include "runtime/vta/InstructionSet.h"

namespace headrace::vta::test {

/// The files of examples/vta by their name.
Configuration exampleConfiguration(const std::string &name);
std::vector<std::string> exampleNames();

/// Integers (I8 or I32) in [least, most], which depend on the seed alone.
Tensor randomTensor(DType type, Shape shape, uint64_t seed, int least, int most);

/// An operation of the ALU, from its definition.
int32_t applied(AluOp op, int32_t x, int32_t y);

} // namespace headrace::vta::test
