//===- Passes.td - passes of the CPU target, in the order they run ------------===//
#ifndef HEADRACE_TARGET_CPU_PASSES_TD
#define HEADRACE_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def CpuSplitWindowsPass : Pass<"cpu-split-windows", "::mlir::func::FuncOp"> {
  let summary = "splits convolutions most of whose window is padding into parts";
}

def CpuFuseEpiloguesPass : Pass<"cpu-fuse-epilogues", "::mlir::func::FuncOp"> {
  let summary = "fuses the requantization epilogue into int8 matmuls";
}

def CpuScheduleCallsPass : Pass<"cpu-schedule-calls", "::mlir::func::FuncOp"> {
  let summary = "chooses how library routines are called";
}

def CpuAttachRecipePass : Pass<"cpu-attach-recipe", "::mlir::ModuleOp"> {
  let summary = "chooses a kernel's schedule and writes its recipe";
  let options = [
    Option<"target", "target", "std::string", "\"cpu:x86-64-v3\"", "whose machine, as of --target">
  ];
}

def CpuApplyRecipePass : Pass<"cpu-apply-recipe", "::mlir::ModuleOp"> {
  let summary = "applies a kernel's recipe: tiles, fusion, vectors";
}

def CpuWalkRowsPass : Pass<"cpu-walk-rows", "::mlir::func::FuncOp"> {
  let summary = "writes a row-blocked kernel as loops over vectors";
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
  let options = [
    Option<"rows", "rows", "int64_t", "8", "how many rows are computed at a time">,
    Option<"vectorBytes", "vector-bytes", "int64_t", "32", "width of a vector register">
  ];
}

def CpuShareJoinsPass : Pass<"cpu-share-joins", "::mlir::func::FuncOp"> {
  let summary = "concatenates tensors a few rows at a time, computed in place";
}

def CpuVectorizeStepsPass : Pass<"cpu-vectorize-steps", "::mlir::func::FuncOp"> {
  let summary = "vectorizes scalar loops";
  let options = [
    Option<"vectorBytes", "vector-bytes", "int64_t", "32", "width of a vector register">,
    Option<"dotProducts", "dot-products", "bool", "false",
           "whether the CPU has int8 dot products of four pairs">
  ];
}

def CpuLiftAccumulatorsPass : Pass<"cpu-lift-accumulators", "::mlir::func::FuncOp"> {
  let summary = "keeps accumulators in registers over reduction loops";
}

def CpuBoundLoopsPass : Pass<"cpu-bound-loops", "::mlir::func::FuncOp"> {
  let summary = "leaves out the iterations that a condition on indices masks";
}

def CpuBufferizePass : Pass<"cpu-bufferize", "::mlir::ModuleOp"> {
  let summary = "bufferizes values without copies";
}

def CpuDistributeGridPass : Pass<"cpu-distribute-grid", "::mlir::func::FuncOp"> {
  let summary = "iterates over the range of grid tiles that the caller passes";
}

def CpuPlanWorkspacePass : Pass<"cpu-plan-workspace", "::mlir::func::FuncOp"> {
  let summary = "places the temporaries of a kernel in a workspace of fixed size";
  let options = [Option<"apart", "apart", "bool", "false", "leaves each a separate allocation">];
}

def CpuVerifyResultsPass : Pass<"cpu-verify-results", "::mlir::func::FuncOp"> {
  let summary = "checks that results share memory neither with each other nor with operands";
}

def CpuCheckKernelPass : Pass<"cpu-check-kernel", "::mlir::ModuleOp"> {
  let summary = "adds remarks on inner loops that spill registers";
  let options = [
    Option<"target", "target", "std::string", "\"cpu:x86-64-v3\"", "whose machine, as of --target">
  ];
}

def CpuPrefetchRowsPass : Pass<"cpu-prefetch-rows", "::mlir::func::FuncOp"> {
  let summary = "fetches the next row while one is computed";
}

def CpuPrefetchPanelsPass : Pass<"cpu-prefetch-panels", "::mlir::func::FuncOp"> {
  let summary = "fetches the next panel of an operand while one is used";
  let options = [Option<"coreBytes", "core-bytes", "int64_t", "1 << 20",
                        "what the last cache that a core has for itself holds">];
}

def CpuCallIntrinsicsPass : Pass<"cpu-call-intrinsics", "::mlir::ModuleOp"> {
  let summary = "calls of the user's functions where recipes ask for intrinsics";
}

def CpuPairProductsPass : Pass<"cpu-pair-products", "::mlir::func::FuncOp"> {
  let summary = "adds products of bf16 in pairs by the CPU's instruction";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def CpuLowerVectorsPass : Pass<"cpu-lower-vectors", "::mlir::func::FuncOp"> {
  let summary = "lowers vectors of any rank to vectors of the machine";
}

def CpuCopyRowsPass : Pass<"cpu-copy-rows", "::mlir::func::FuncOp"> {
  let summary = "copies gathered rows of tables as vectors";
  let options = [
    Option<"vectorBytes", "vector-bytes", "int64_t", "32", "width of a vector register">
  ];
}

def CpuBf16AsBitsPass : Pass<"cpu-bf16-as-bits", "::mlir::ModuleOp"> {
  let summary = "stores bf16 as 16-bit integers and expands conversions";
}

def CpuApproximateMathPass : Pass<"cpu-approximate-math", "::mlir::func::FuncOp"> {
  let summary = "expands math functions into polynomials";
}

def CpuKernelAbiPass : Pass<"cpu-kernel-abi", "::mlir::ModuleOp"> {
  let summary = "gives kernels the signature the runtime calls";
}

def CpuPowersToFunctionsPass : Pass<"cpu-powers-to-functions", "::mlir::ModuleOp"> {
  let summary = "writes integer powers as calls of functions in the kernel's module";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif
