// The targets that `--target` can name; no other file lists them.
#include "target/Target.h"
#include "target/coarse/CoarseTarget.h"
#include "target/cpu/interface/CpuTarget.h"
#include "target/cuda/interface/CudaTarget.h"
#include "target/vta/VtaTarget.h"
#include "targets/Host.h"

namespace headrace {

std::vector<TargetKind> shippedTargets() {
  return {{hostTarget, makeCpuTarget},
          {"cuda", makeCudaTarget},
          {"coarse", coarse::makeTarget},
          {"vta", vta::makeTarget}};
}

} // namespace headrace
