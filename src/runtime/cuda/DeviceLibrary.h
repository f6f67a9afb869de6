// Library routines on a device.
#pragma once

#include "runtime/cuda/Device.h"
#include "runtime/program/Program.h"

#include <span>
#include <string_view>

namespace headrace::cuda {

/// One call of a routine, as part of a stream's work.
struct RoutineCall {
  const Step &step;
  std::span<const Address> operands;
  std::span<const DType> types; // of the operands
  std::span<const int64_t> parameters;
  Device &device;
  Stream stream;
  Address workspace; // routineWorkspaceBytes of it, the call's own
};
using DeviceRoutine = void (*)(const RoutineCall &call);

/// What "cudnn.convolution" computes of its sums at the end; packages store the numbers.
enum class CuDnnActivation : int64_t { None = 0, Relu = 1, Relu6 = 2, Swish = 3, Gelu = 4 };

/// Workspace that libraries are given; more makes some products of matrices faster.
inline constexpr int64_t routineWorkspaceBytes = int64_t{32} << 20;

/// The routine of that name; null if it is unknown or its library is not on this machine.
///
/// "copy": operand 0 to operand 1; parameters: bytes.
/// "cublas.gemm": operands and parameters of "openblas.sgemm" (Library.h), in f32, bf16 or f16 with
///   sums in f32.
/// "cudnn.conv": images [n, h, w, c], filters [k, kh, kw, c] and results [n, oh, ow, k];
/// parameters:
///   n, h, w, c, k, kh, kw, oh, ow, strides (2), dilations (2). Types as above.
/// "cudnn.convolution": the same of bf16 or f16, and of what follows: images, filters, a bias [k]
///   (f32) if there is one, what is added (as the result) if anything is, results; parameters:
///   those of "cudnn.conv", padding at the beginning (2) and the end (2), whether there is a bias,
///   whether anything is added, `CuDnnActivation`.
DeviceRoutine findDeviceRoutine(std::string_view name);
/// What may be done before the first call of a routine, by several threads at once; null if nothing
/// is. No memory is accessed.
DeviceRoutine findPreparation(std::string_view name);
/// Whether devices have a routine of that name, here or elsewhere; checks of data are launches.
bool isDeviceRoutine(std::string_view name);

} // namespace headrace::cuda
