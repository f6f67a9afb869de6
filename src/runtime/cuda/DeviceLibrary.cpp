#include "runtime/cuda/DeviceLibrary.h"

#include "runtime/cuda/CuBlas.h"
#include "runtime/cuda/CuDnn.h"
#include "runtime/cuda/CuDnnGraph.h"
#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace::cuda {

namespace {

void copyBytes(const RoutineCall &call) {
  if (call.operands.size() != 2 || call.parameters.size() != 1 || call.parameters[0] < 0)
    throw InternalError("step '" + call.step.name + "': copy takes 2 operands and a size");
  if (call.parameters[0] > 0)
    check(driver().cuMemcpyDtoDAsync_v2(call.operands[1], call.operands[0],
                                        static_cast<size_t>(call.parameters[0]), call.stream),
          "step '" + call.step.name + "'");
}

struct Routine {
  std::string_view name;
  DeviceRoutine function;
  bool (*isHere)();
  DeviceRoutine prepare = nullptr;
};

constexpr Routine routines[] = {
    {"copy", copyBytes, [] { return true; }},
    {"cublas.gemm", cuBlasGemm, cuBlasAvailable},
    {"cudnn.conv", cuDnnConvolution, cuDnnAvailable},
    {"cudnn.convolution", cuDnnFusedConvolution, cuDnnGraphAvailable, prepareCuDnnFusedConvolution},
};

} // namespace

DeviceRoutine findDeviceRoutine(std::string_view name) {
  for (const Routine &routine : routines)
    if (routine.name == name)
      return routine.isHere() ? routine.function : nullptr;
  return nullptr;
}

DeviceRoutine findPreparation(std::string_view name) {
  for (const Routine &routine : routines)
    if (routine.name == name)
      return routine.prepare;
  return nullptr;
}

bool isDeviceRoutine(std::string_view name) {
  return name.starts_with("check.") || std::ranges::any_of(routines, [&](const Routine &routine) {
           return routine.name == name;
         });
}

} // namespace headrace::cuda
