//===- Passes.td - passes over levels 1 and 2, in alphabetical order ----------===//
#ifndef HEADRACE_TRANSFORM_PASSES_TD
#define HEADRACE_TRANSFORM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ChannelsLastPass : Pass<"channels-last", "::mlir::func::FuncOp"> {
  let summary = "puts the channels of images last, with the least data transposed";
}

def ExpandOperatorsPass : Pass<"expand-operators", "::mlir::func::FuncOp"> {
  let summary = "writes coarse operators in terms of maps and reductions";
}

def FoldBatchNormPass : Pass<"fold-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "moves a normalization into the filter of the convolution before it";
}

def FoldConstantsPass : Pass<"fold-constants", "::mlir::func::FuncOp"> {
  let summary = "evaluates operators of constants";
}

def SeparatePaddingPass : Pass<"separate-padding", "::mlir::func::FuncOp"> {
  let summary = "makes padding an operator of its own, and averages sums";
}

def SimplifyAlgebraPass : Pass<"simplify-algebra", "::mlir::func::FuncOp"> {
  let summary = "removes and merges operators by algebraic identities";
}

#endif
