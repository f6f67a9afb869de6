#pragma once

#include "runtime/Program.h"
#include "runtime/ThreadPool.h"

#include <span>
#include <string_view>

namespace headrace {

/// Does one library step; `buffers` are the step's operands in order.
using LibraryFn = void (*)(const Step &step, void *const *buffers,
                           std::span<const int64_t> parameters, ThreadPool &pool);

/// The routine of that name; null when it is unknown or its library is not on this machine.
///
/// "copy": operand 0 to operand 1; parameters: bytes.
/// "check.index", "check.divisor", "check.target": throw Error (ValueCheck.h).
/// "openblas.sgemm": C = op(A) op(B), row-major f32, operands A, B, C; parameters: batch, m, n, k,
///   transA, transB, strideA, strideB, strideC (elements from one matrix of the batch to the next,
///   0 = shared), lda, ldb, ldc.
///
/// Results do not depend on the number of threads.
LibraryFn findLibraryRoutine(std::string_view name);

/// Whether the library ("openblas") can be loaded here.
bool libraryAvailable(std::string_view library);

} // namespace headrace
