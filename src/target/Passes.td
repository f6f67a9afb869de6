//===- Passes.td - passes that ask a target ------------------------------------===//
#ifndef HEADRACE_TARGET_PASSES_TD
#define HEADRACE_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def ChooseExpansionsPass : Pass<"choose-expansions", "::mlir::func::FuncOp"> {
  let summary = "chooses an implementation for operators that have several: generated code or a library";
  let options = [
    Option<"only", "only", "std::string", "\"\"", "the one operator to decide on, such as hr.attention">,
    Option<"prefer", "prefer", "std::string", "\"auto\"",
           "auto (least estimated time), or the name of an expansion">,
    Option<"target", "target", "std::string", "\"cpu\"", "whose expansions, as of --target">
  ];
}

def PlaceKernelsPass : Pass<"place-kernels", "::mlir::ModuleOp"> {
  let summary = "decides where each kernel, library call and check runs: on the target, or on the host";
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "the target that runs all it can">,
    Option<"fallback", "fallback", "std::string", "\"cpu\"", "the CPU that runs everything else">
  ];
}

def SliceKernelsPass : Pass<"slice-kernels", "::mlir::ModuleOp"> {
  let summary = "decides which kernels run depth first, on one slice of their operands after the other";
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "whose machine the times are predicted for">
  ];
}

def StreamResultsPass : Pass<"stream-results", "::mlir::ModuleOp"> {
  let summary = "decides which results are written past the caches";
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "whose caches, as of --target">
  ];
}

#endif
