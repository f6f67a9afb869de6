// The engines that the steps of programs and packages can name, besides the process itself.
#include "rewrite/engine/CoarseEngine.h"
#include "runtime/cuda/CudaEngine.h"
#include "runtime/program/Engine.h"
#include "runtime/vta/VtaEngine.h"

namespace headrace {

std::vector<const Engine *> shippedEngines() {
  return {&cuda::engine(), &vta::vtaEngine(), &rewrite::coarseEngine()};
}

} // namespace headrace
