//===- Passes.td - passes that ask a target ------------------------------------===//
#ifndef HEADRACE_TARGET_PASSES_TD
#define HEADRACE_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def ChooseExpansionsPass : Pass<"choose-expansions", "::mlir::func::FuncOp"> {
  let summary = "decides how each contraction and convolution is computed: generated code or a library";
  let options = [
    Option<"prefer", "prefer", "std::string", "\"auto\"",
           "auto (least estimated time), or the name of an expansion">,
    Option<"target", "target", "std::string", "\"cpu\"", "whose expansions, as of --target">
  ];
}

#endif
