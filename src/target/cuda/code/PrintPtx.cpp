// Prints the PTX of kernels at level 4, and leaves them as they are: for tests of what the back end
// makes of them.
#include "runtime/system/Error.h"
#include "target/cuda/Passes.h"
#include "target/cuda/code/Ptx.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CUDAPRINTPTXPASS
#include "target/cuda/Passes.h.inc"

namespace {

struct CudaPrintPtxPass : impl::CudaPrintPtxPassBase<CudaPrintPtxPass> {
  using CudaPrintPtxPassBase::CudaPrintPtxPassBase;

  void runOnOperation() override {
    try {
      llvm::outs() << cuda::writePtx(getOperation(), cuda::findArchitecture(architecture));
    } catch (const std::exception &error) {
      getOperation().emitError(error.what());
      signalPassFailure();
    }
  }
};

} // namespace
} // namespace headrace
