// Level 3: what the next phase relies on in every kernel's module.
//
//   module @mish attributes {cuda.launches = [{function = "mish", ...}]} {
//     gpu.module @mish_device { gpu.func @mish(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel ... } }
//
// Device functions work on memory: no operation has a tensor, none allocates. Every one is
// launched, and every launch names an existing one.
#include "target/cuda/Passes.h"
#include "target/cuda/write/KernelWriter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CUDAVERIFYFUNCTIONSPASS
#include "target/cuda/Passes.h.inc"

namespace {

bool isTensor(Type type) { return isa<TensorType>(type); }

LogicalResult verifyOperation(Operation *op) {
  if (llvm::any_of(op->getResultTypes(), isTensor) || llvm::any_of(op->getOperandTypes(), isTensor))
    return op->emitError("expected memory instead of tensors at the end of level 3, got ")
           << op->getName();
  if (isa<memref::AllocOp, gpu::AllocOp>(op))
    return op->emitError("expected no allocation on a device, got ") << op->getName();
  return success();
}

struct VerifyFunctions : impl::CudaVerifyFunctionsPassBase<VerifyFunctions> {
  void runOnOperation() override {
    if (failed(verify()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult verify() {
    llvm::StringSet<> functions;
    WalkResult walked = getOperation().walk([&](Operation *op) {
      if (auto function = dyn_cast<gpu::GPUFuncOp>(op); function && function.isKernel())
        functions.insert(function.getName());
      return WalkResult(verifyOperation(op));
    });
    if (walked.wasInterrupted())
      return failure();
    llvm::StringSet<> launched;
    auto launches = getOperation()->getAttrOfType<ArrayAttr>(cuda::kLaunchesAttr);
    if (!launches)
      return getOperation().emitError("has no launches");
    for (auto record : launches.getAsRange<DictionaryAttr>()) {
      StringRef name = record.getAs<StringAttr>("function").getValue();
      launched.insert(name);
      if (!functions.contains(name))
        return getOperation().emitError("launches '")
               << name << "', which is not a device function";
    }
    for (const auto &function : functions)
      if (!launched.contains(function.getKey()))
        return getOperation().emitError("device function '")
               << function.getKey() << "' is never launched";
    return success();
  }
};

} // namespace
} // namespace headrace
