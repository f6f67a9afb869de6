// Metadata of a program, next to its instructions and data: buffers, runs, where micro-ops are.
// `buffers.json` of a program's directory, and part of the code of kernels.
#pragma once

#include "runtime/system/Json.h"
#include "runtime/vta/Program.h"

namespace headrace::vta {

/// The metadata as JSON.
Json describe(const Program &program);
/// Adds buffers and runs to a program that has its instructions and micro-ops, and a DRAM of
/// `dramBytes` bytes or none yet. Throws JsonFault if anything does not fit the rest.
void readDescription(Program &program, const Json &json, int64_t dramBytes);

} // namespace headrace::vta
