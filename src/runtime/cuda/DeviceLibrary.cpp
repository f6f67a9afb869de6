#include "runtime/cuda/DeviceLibrary.h"

#include "runtime/cuda/CuBlas.h"
#include "runtime/cuda/CuDnn.h"
#include "runtime/system/Error.h"

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

} // namespace

DeviceRoutine findDeviceRoutine(std::string_view name) {
  if (name == "copy")
    return copyBytes;
  if (name == "cublas.gemm" && cuBlasAvailable())
    return cuBlasGemm;
  if (name == "cudnn.conv" && cuDnnAvailable())
    return cuDnnConvolution;
  return nullptr;
}

} // namespace headrace::cuda
