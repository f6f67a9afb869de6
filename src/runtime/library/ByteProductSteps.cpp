// The routines of products and convolutions of bytes behind steps, and the faults in their sizes.
#include "runtime/library/ByteDepthwise.h"
#include "runtime/library/ByteProduct.h"
#include "runtime/library/ByteRows.h"
#include "runtime/system/Error.h"
#include "runtime/system/Rounding.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace headrace {

using namespace bytes;

namespace {

constexpr size_t finishParameters = 1 + BytePlaces::parameters;
/// Sizes beyond this are damaged: products of a few of them must not overflow.
constexpr int64_t maxSize = int64_t{1} << 40;

bool isSize(int64_t value) { return value >= 0 && value <= maxSize; }

/// The bytes of `n` packed columns, each of `runs` runs of `runBytes` bytes.
__int128 packedBytesOf(int64_t n, int64_t runs, int64_t runBytes) {
  __int128 steps = static_cast<__int128>(runs) * dividedUp(runBytes, stepRows);
  return dividedUp(n, panelColumns) * (steps + 1) * stepBytes;
}

constexpr size_t productParameters = 14;

std::string leaves(size_t i, std::span<const int64_t> operandBytes) {
  return "leaves its operand " + std::to_string(i) + " of " + std::to_string(operandBytes[i]) +
         " bytes";
}

/// The fault in an epilogue's record (operand 2) or in the tensor that it adds (operand 3); empty
/// if there is none.
std::string finishFault(int64_t form, int64_t columns, int64_t rows, bool addsOther,
                        std::span<const int64_t> operandBytes) {
  if (form < 0 || form > Int8Epilogue::allForms ||
      addsOther != ((form & Int8Epilogue::AddsOther) != 0))
    return "has an unknown epilogue, " + std::to_string(form);
  if (Int8EpilogueWriter::recordBytes(form, columns) > operandBytes[2])
    return leaves(2, operandBytes);
  if (addsOther && static_cast<__int128>(rows) * columns > operandBytes[3])
    return leaves(3, operandBytes);
  return "";
}

ByteProduct readProduct(std::span<const int64_t> p) {
  ByteProduct product{{p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11]},
                      p[12] != 0,
                      p[13] != 0};
  if (p.size() > productParameters)
    product.patches = BytePatches::of(p.subspan(productParameters));
  return product;
}

} // namespace

template <bool packed>
void runByteProductStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                        ThreadPool &pool) {
  bool isProduct = parameters.size() == productParameters ||
                   parameters.size() == productParameters + BytePatches::parameters;
  if (step.operands.size() != 3 || !isProduct)
    throw InternalError("step '" + step.name +
                        "': expected 3 operands and the parameters of an int8 matmul");
  multiplyBytes(readProduct(parameters), static_cast<const uint8_t *>(buffers[0]),
                static_cast<const uint8_t *>(buffers[1]), static_cast<int32_t *>(buffers[2]),
                packed, pool);
}

template <bool packed>
std::string byteProductStepFault(std::span<const int64_t> parameters,
                                 std::span<const int64_t> operandBytes) {
  std::array<int64_t, 3> bytes = {operandBytes[0], operandBytes[1], operandBytes[2]};
  std::array<int64_t, 12> gemm;
  std::copy_n(parameters.begin(), gemm.size(), gemm.begin());
  if (parameters.size() > productParameters) {
    int64_t batch = gemm[0], m = gemm[1], k = gemm[3];
    if (batch != 1 || gemm[4] != 0)
      return "takes patches of an image as more than one matrix, or transposed";
    std::string fault =
        BytePatches::of(parameters.subspan(productParameters)).faultOf(m, k, operandBytes[0]);
    if (!fault.empty())
      return fault;
    // The matrix itself is not there; that it would fit is not the question.
    gemm[6] = 0;
    gemm[9] = k;
    if (__builtin_mul_overflow(m, k, &bytes[0]))
      return "has " + std::to_string(m) + " patches of " + std::to_string(k) + " bytes";
  }
  if constexpr (packed) {
    int64_t n = gemm[2], k = gemm[3];
    constexpr int64_t most = int64_t{1} << 40;
    if (n < 0 || k < 0 || n > most || k > most || packedBytesOf(n, 1, k) > operandBytes[1])
      return "leaves its operand 1 of " + std::to_string(operandBytes[1]) + " bytes";
    // B itself is not there; that it would fit is not the question.
    gemm[7] = 0;
    gemm[10] = gemm[5] ? k : n;
    if (__builtin_mul_overflow(n, k, &bytes[1]))
      return "multiplies matrices of " + std::to_string(n) + " columns and " + std::to_string(k) +
             " rows";
  }
  return gemmFault(gemm, bytes, {1, 1, 4});
}

template <bool isConvolution>
void runFinishedProductStep(const Step &step, void *const *buffers,
                            std::span<const int64_t> parameters, ThreadPool &pool) {
  constexpr size_t own = productParameters + (isConvolution ? BytePatches::parameters : 0);
  if (parameters.size() != own + finishParameters || step.operands.size() < 4)
    throw InternalError(
        "step '" + step.name +
        "': expected 4 operands and the parameters of an int8 matmul with epilogue");
  ByteProduct product = readProduct(parameters.first(own));
  product.padsRuns = isConvolution;
  auto bytesOf = [&](size_t i) { return static_cast<const uint8_t *>(buffers[i]); };
  Int8EpilogueWriter finisher(bytesOf(2), parameters[own], product.gemm.n);
  size_t last = step.operands.size() - 1;
  multiplyToBytes(product, finisher, BytePlaces::of(parameters.subspan(own + 1)), bytesOf(0),
                  bytesOf(1), finisher.addsOther() ? bytesOf(3) : nullptr,
                  static_cast<uint8_t *>(buffers[last]), pool);
}

template <bool isConvolution, bool addsOther>
std::string finishedProductStepFault(std::span<const int64_t> parameters,
                                     std::span<const int64_t> operandBytes) {
  constexpr size_t own = productParameters + (isConvolution ? BytePatches::parameters : 0);
  // Checks that products whose sums are stored have, too.
  int64_t m = parameters[1], n = parameters[2], k = parameters[3], runs = 1, form = parameters[own];
  if (parameters[0] != 1 || !isSize(m) || !isSize(n) || !isSize(k))
    return "multiplies more than one matrix, or one of " + std::to_string(m) + " rows";
  std::vector<int64_t> plain(parameters.begin(), parameters.begin() + own);
  plain[8] = 0;
  plain[11] = n;
  __int128 sums = static_cast<__int128>(m) * n * 4;
  if (sums > std::numeric_limits<int64_t>::max())
    return "has " + std::to_string(m) + " rows of " + std::to_string(n) + " bytes";
  // Its columns may be packed in more steps than theirs: that is looked at below.
  std::array<int64_t, 3> bytes = {operandBytes[0], std::numeric_limits<int64_t>::max(),
                                  static_cast<int64_t>(sums)};
  if (std::string fault = byteProductStepFault<true>(plain, bytes); !fault.empty())
    return fault;
  if constexpr (isConvolution) {
    BytePatches patches = BytePatches::of(parameters.subspan(productParameters));
    runs = patches.runs();
    k = patches.runBytes();
  }
  if (packedBytesOf(n, runs, k) > operandBytes[1])
    return leaves(1, operandBytes);
  if (std::string fault = finishFault(form, n, m, addsOther, operandBytes); !fault.empty())
    return fault;
  return BytePlaces::of(parameters.subspan(own + 1)).faultOf(m, n, operandBytes.back());
}

namespace {

constexpr size_t depthwiseParameters = 3;

ByteDepthwise readDepthwise(std::span<const int64_t> p) {
  return {BytePatches::of(p.subspan(depthwiseParameters)), p[0], p[1] != 0, p[2] != 0};
}

} // namespace

void runDepthwiseStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                      ThreadPool &pool) {
  constexpr size_t own = depthwiseParameters + BytePatches::parameters;
  if (parameters.size() != own + finishParameters || step.operands.size() < 4)
    throw InternalError("step '" + step.name +
                        "': expected 4 operands and the parameters of a convolution to bytes");
  ByteDepthwise depthwise = readDepthwise(parameters);
  auto bytesOf = [&](size_t i) { return static_cast<const uint8_t *>(buffers[i]); };
  Int8EpilogueWriter finisher(bytesOf(2), parameters[own], depthwise.patches.channels);
  convolveToBytes(depthwise, finisher, BytePlaces::of(parameters.subspan(own + 1)), bytesOf(0),
                  bytesOf(1), finisher.addsOther() ? bytesOf(3) : nullptr,
                  static_cast<uint8_t *>(buffers[step.operands.size() - 1]), pool);
}

template <bool addsOther>
std::string depthwiseStepFault(std::span<const int64_t> parameters,
                               std::span<const int64_t> operandBytes) {
  constexpr size_t own = depthwiseParameters + BytePatches::parameters;
  ByteDepthwise depthwise = readDepthwise(parameters);
  const BytePatches &patches = depthwise.patches;
  __int128 depth = patches.channels;
  for (int64_t size : patches.window) {
    if (!isSize(size) || !isSize(patches.channels))
      return "has windows of a negative or excessive size";
    depth *= size;
    if (depth > maxSize)
      return "has windows of a negative or excessive size";
  }
  if (std::string fault =
          patches.faultOf(depthwise.rows, static_cast<int64_t>(depth), operandBytes[0]);
      !fault.empty())
    return fault;
  if (packedTapBytes(depthwise) > operandBytes[1])
    return leaves(1, operandBytes);
  if (std::string fault =
          finishFault(parameters[own], patches.channels, depthwise.rows, addsOther, operandBytes);
      !fault.empty())
    return fault;
  return BytePlaces::of(parameters.subspan(own + 1))
      .faultOf(depthwise.rows, patches.channels, operandBytes.back());
}

template std::string depthwiseStepFault<false>(std::span<const int64_t>, std::span<const int64_t>);
template std::string depthwiseStepFault<true>(std::span<const int64_t>, std::span<const int64_t>);
template void runByteProductStep<false>(const Step &, void *const *, std::span<const int64_t>,
                                        ThreadPool &);
template void runByteProductStep<true>(const Step &, void *const *, std::span<const int64_t>,
                                       ThreadPool &);
template std::string byteProductStepFault<false>(std::span<const int64_t>,
                                                 std::span<const int64_t>);
template std::string byteProductStepFault<true>(std::span<const int64_t>, std::span<const int64_t>);

template void runFinishedProductStep<false>(const Step &, void *const *, std::span<const int64_t>,
                                            ThreadPool &);
template void runFinishedProductStep<true>(const Step &, void *const *, std::span<const int64_t>,
                                           ThreadPool &);
template std::string finishedProductStepFault<false, false>(std::span<const int64_t>,
                                                            std::span<const int64_t>);
template std::string finishedProductStepFault<false, true>(std::span<const int64_t>,
                                                           std::span<const int64_t>);
template std::string finishedProductStepFault<true, false>(std::span<const int64_t>,
                                                           std::span<const int64_t>);
template std::string finishedProductStepFault<true, true>(std::span<const int64_t>,
                                                          std::span<const int64_t>);

} // namespace headrace
