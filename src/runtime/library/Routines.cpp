// The table of routines that steps of programs call by name.
#include "runtime/library/Attention.h"
#include "runtime/library/ByteDepthwise.h"
#include "runtime/library/ByteProduct.h"
#include "runtime/library/Forest.h"
#include "runtime/library/Gemm.h"
#include "runtime/library/OpenBlas.h"
#include "runtime/library/Sort.h"
#include "runtime/library/Systems.h"
#include "runtime/program/Library.h"
#include "runtime/program/ValueCheck.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace headrace {

namespace {

std::string copyFault(std::span<const int64_t> parameters, std::span<const int64_t> operandBytes) {
  int64_t bytes = parameters[0];
  if (bytes >= 0 && bytes <= std::min(operandBytes[0], operandBytes[1]))
    return "";
  return "copies " + std::to_string(bytes) + " bytes from " + std::to_string(operandBytes[0]) +
         " to " + std::to_string(operandBytes[1]);
}

void copyBytes(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
               ThreadPool &pool) {
  if (step.operands.size() != 2 || parameters.size() != 1 || parameters[0] < 0)
    throw InternalError("step '" + step.name + "': copy takes 2 operands and a size");
  constexpr int64_t grain = 128 * 1024; // less is done before a worker has woken up
  auto *source = static_cast<const std::byte *>(buffers[0]);
  auto *target = static_cast<std::byte *>(buffers[1]);
  pool.parallelFor(parameters[0], grain, [&](int64_t begin, int64_t end, int) {
    std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
  });
}

constexpr LibraryInfo libraries[] = {
    {"openblas", [] { return openBlas() != nullptr; }, getOpenBlas},
};

constexpr LibraryShape checkShape = {
    .operands = 1, .parameters = 5, .takesSizes = true, .writes = false};
constexpr LibraryShape gemmShape = {.operands = 3, .parameters = 12, .optional = 3};
constexpr LibraryShape sortShape = {.operands = 2, .parameters = 5, .optional = 1};
constexpr LibraryShape systemsShape = {.operands = 3, .parameters = 4, .optional = 1};
constexpr LibraryShape attentionShape(size_t operands) {
  return {.operands = operands,
          .parameters = Attention::parameters,
          .optional = Attention::blockParameters};
}
constexpr auto routines = std::to_array<LibraryRoutine>({
    {"copy", "", copyBytes, {2, 1}, copyFault},
    {"check.index", "", runCheckStep, checkShape, checkStepFault},
    {"check.divisor", "", runCheckStep, checkShape, checkStepFault},
    {"check.target", "", runCheckStep, checkShape, checkStepFault},
    {"openblas.sgemm", "openblas", runGemmStep<float>, gemmShape, gemmStepFault<float>},
    {"openblas.dgemm", "openblas", runGemmStep<double>, gemmShape, gemmStepFault<double>},
    {"openblas.attention", "openblas", runAttentionStep, attentionShape(4), attentionStepFault},
    {"openblas.biased_attention", "openblas", runAttentionStep, attentionShape(5),
     attentionStepFault},
    {"int8.gemm", "", runByteProductStep<false>, {3, 14}, byteProductStepFault<false>},
    {"int8.packed_gemm", "", runByteProductStep<true>, {3, 14}, byteProductStepFault<true>},
    {"int8.conv", "", runByteProductStep<false>, {3, 30}, byteProductStepFault<false>},
    {"int8.packed_conv", "", runByteProductStep<true>, {3, 30}, byteProductStepFault<true>},
    {"int8.finished_gemm",
     "",
     runFinishedProductStep<false>,
     {4, 25},
     finishedProductStepFault<false, false>},
    {"int8.added_gemm",
     "",
     runFinishedProductStep<false>,
     {5, 25},
     finishedProductStepFault<false, true>},
    {"int8.finished_conv",
     "",
     runFinishedProductStep<true>,
     {4, 41},
     finishedProductStepFault<true, false>},
    {"int8.added_conv",
     "",
     runFinishedProductStep<true>,
     {5, 41},
     finishedProductStepFault<true, true>},
    {"int8.finished_depthwise", "", runDepthwiseStep, {4, 30}, depthwiseStepFault<false>},
    {"int8.added_depthwise", "", runDepthwiseStep, {5, 30}, depthwiseStepFault<true>},
    {"openblas.lu.f32", "openblas", runLuStep<float>, systemsShape, systemsStepFault<float>},
    {"openblas.lu.f64", "openblas", runLuStep<double>, systemsShape, systemsStepFault<double>},
    {"openblas.cholesky.f32", "openblas", runCholeskyStep<float>, systemsShape,
     systemsStepFault<float>},
    {"openblas.cholesky.f64", "openblas", runCholeskyStep<double>, systemsShape,
     systemsStepFault<double>},
    {"forest.f32", "", runForestStep<float>, {7, ForestSizes::parameters}, forestStepFault<float>},
    {"forest.f64",
     "",
     runForestStep<double>,
     {7, ForestSizes::parameters},
     forestStepFault<double>},
    {"sort.f32", "", runSortStep<float>, sortShape, sortStepFault<float>},
    {"sort.f64", "", runSortStep<double>, sortShape, sortStepFault<double>},
    {"sort.i32", "", runSortStep<int32_t>, sortShape, sortStepFault<int32_t>},
    {"sort.i64", "", runSortStep<int64_t>, sortShape, sortStepFault<int64_t>},
});

} // namespace

std::span<const LibraryInfo> neededLibraries() { return libraries; }
std::span<const LibraryRoutine> shippedRoutines() { return routines; }

} // namespace headrace
