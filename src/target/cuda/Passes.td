//===- Passes.td - passes of the CUDA target, in the order they run -----------===//
#ifndef HEADRACE_TARGET_CUDA_PASSES_TD
#define HEADRACE_TARGET_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def CudaSplitResultsPass : Pass<"cuda-split-results", "::mlir::ModuleOp"> {
  let summary = "Gives element-wise operations one result each";
}

def CudaSumInSinglePass : Pass<"cuda-sum-in-single", "::mlir::ModuleOp"> {
  let summary = "accumulates products of f16 and bf16 in f32";
}

def CudaAttachSchedulePass : Pass<"cuda-attach-schedule", "::mlir::ModuleOp"> {
  let summary = "chooses the launched operations of a kernel, and how threads share them";
  let options = [
    Option<"warpgroups", "warpgroups", "bool", "true", "whether the device has them (sm_90a)">,
    Option<"multiprocessors", "multiprocessors", "int64_t", "132", "how many the device has">
  ];
}

def CudaWriteKernelsPass : Pass<"cuda-write-kernels", "::mlir::ModuleOp"> {
  let summary = "writes device functions for the launched operations";
}

def CudaLowerPass : Pass<"cuda-lower", "::mlir::ModuleOp"> {
  let summary = "device functions in terms of LLVM and NVVM";
}

def CudaPrintPtxPass : Pass<"cuda-print-ptx", "::mlir::ModuleOp"> {
  let summary = "prints a kernel's PTX; for tests";
  let options = [
    Option<"architecture", "architecture", "std::string", "\"sm_90a\"", "the device">
  ];
}

def CudaVerifyFunctionsPass : Pass<"cuda-verify-functions", "::mlir::ModuleOp"> {
  let summary = "verifies level 3: device functions over memory alone, each of which is launched";
}

#endif
