// Most kernels are linalg operations over whole tensors, which can always be written. Others hold
// something whose conditions only the writer knows (parts, padding, loops): those are written on
// trial, and what the writer says is the reason.
#include "target/cuda/write/WhyNoLaunches.h"

#include "dialect/Hr.h"
#include "target/cuda/Passes.h"
#include "transform/kernels/KernelFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace headrace::cuda {
namespace {

/// Whether all results are written in plain order, from operands and other such results.
bool isPlain(ModuleOp kernel) {
  return llvm::all_of(kernelFunction(kernel).getBody().front(), [](Operation &op) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      return llvm::all_of(generic.getDpsInitsMutable(), [&](OpOperand &init) {
        return generic.getMatchingIndexingMap(&init).isProjectedPermutation();
      });
    return isa<linalg::FillOp, tensor::EmptyOp, hr::SizeOp, arith::ConstantOp,
               bufferization::ToTensorOp, bufferization::MaterializeInDestinationOp,
               func::ReturnOp>(op);
  });
}

} // namespace

std::string whyNoLaunches(ModuleOp kernel) {
  if (isPlain(kernel))
    return "";
  OwningOpRef<ModuleOp> trial = kernel.clone();
  std::string reason;
  ScopedDiagnosticHandler handler(kernel.getContext(), [&](Diagnostic &diagnostic) {
    if (reason.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      reason = diagnostic.str();
    return success();
  });
  PassManager passes(kernel.getContext(), ModuleOp::getOperationName());
  passes.addPass(createCudaSplitResultsPass());
  passes.addPass(createCudaSumInSinglePass());
  passes.addPass(createCudaAttachSchedulePass());
  passes.addPass(createCudaWriteKernelsPass());
  if (succeeded(passes.run(*trial)))
    return "";
  return reason.empty() ? "cannot be written as device functions" : reason;
}

} // namespace headrace::cuda
