// Level 3 -> 4: writes integer powers as calls of functions in the kernel's module.
//
// Before:
//   %p = math.fpowi %x, %n : f64, i64
// After:
//   %p = call @__mlir_math_fpowi_f64_i64(%x, %n)   // and the function next to the kernel
//
// MLIR's pass does it, but remembers the functions it made, and would use those of one module in
// the next that the same instance is given. So every module gets an instance of its own.
#include "target/cpu/Passes.h"

#include "mlir/Conversion/MathToFuncs/MathToFuncs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUPOWERSTOFUNCTIONSPASS
#include "target/cpu/Passes.h.inc"

namespace {

struct PowersToFunctions : impl::CpuPowersToFunctionsPassBase<PowersToFunctions> {
  void runOnOperation() override {
    OpPassManager fresh(ModuleOp::getOperationName());
    fresh.addPass(createConvertMathToFuncs());
    if (failed(runPipeline(fresh, getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace headrace
