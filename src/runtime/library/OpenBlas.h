#pragma once

#include "runtime/program/Program.h"
#include "runtime/system/ThreadPool.h"

#include <span>

namespace headrace {

/// Loads OpenBLAS at first use; false when this machine has none.
bool openBlasAvailable();

/// The library routine "openblas.sgemm".
void openBlasSgemm(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                   ThreadPool &pool);
/// What is wrong with its sizes, for operands of so many bytes; empty where nothing is.
std::string openBlasSgemmFault(std::span<const int64_t> parameters,
                               std::span<const int64_t> operandBytes);

} // namespace headrace
