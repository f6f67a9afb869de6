//===- Passes.td - passes over levels 1 and 2, in alphabetical order ----------===//
#ifndef HEADRACE_TRANSFORM_PASSES_TD
#define HEADRACE_TRANSFORM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ChannelsLastPass : Pass<"channels-last", "::mlir::func::FuncOp"> {
  let summary = "puts the channels of images last, with the least data transposed";
}

def DifferentiatePass : Pass<"differentiate", "::mlir::func::FuncOp"> {
  let summary = "adds the gradients of a program's results with respect to its inputs";
  let options = [
    ListOption<"wrt", "wrt", "int64_t", "the inputs, by number; none: all of floating-point type">,
    Option<"seedScalars", "seed-scalars", "bool", "false",
           "results of one element have the gradient 1 and need no argument">
  ];
}

def ExpandOperatorsPass : Pass<"expand-operators", "::mlir::func::FuncOp"> {
  let summary = "expands composite operators into maps and reductions";
  let options = [
    Option<"only", "only", "std::string", "\"\"", "the one operator to expand, such as hr.attention">
  ];
}

def FoldBatchNormPass : Pass<"fold-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "moves a normalization into the filter of the convolution before it";
}

def FoldConstantsPass : Pass<"fold-constants", "::mlir::func::FuncOp"> {
  let summary = "evaluates operators of constants";
}

def ComputeInF32Pass : Pass<"compute-in-f32", "::mlir::func::FuncOp"> {
  let summary = "computes f16 and bf16 in f32 and rounds the result of each operator once";
  let options = [
    Option<"products", "products", "bool", "true", "contractions and convolutions, too">,
    Option<"pairs", "pairs", "bool", "false",
           "products of bf16 keep their factors if instructions add pairs of terms">
  ];
}

def LegalizeTypesPass : Pass<"legalize-types", "::mlir::func::FuncOp"> {
  let summary = "represents unsigned, float8 and 4-bit values by the integers that store them";
}

def RecognizeAttentionPass : Pass<"recognize-attention", "::mlir::func::FuncOp"> {
  let summary = "recognizes attention in matmuls around a softmax";
}

def ReadNarrowPass : Pass<"read-narrow", "::mlir::func::FuncOp"> {
  let summary = "widens low-precision values at their uses";
}

def FormKernelsPass : Pass<"form-kernels", "::mlir::func::FuncOp"> {
  let summary = "partitions operators into kernels (level 2)";
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"cpu:x86-64-v3\"",
           "whose machine, as of --target; a device: no walking, no packing">,
    Option<"sharedVectorBytes", "shared-vector-bytes", "int64_t", "0",
           "width of the vectors that weights are packed for, if wider">
  ];
}

def InlinePaddingPass : Pass<"inline-padding", "::mlir::func::FuncOp"> {
  let summary = "has kernels of small windows read what is around an image themselves";
}

def MergeMapsPass : Pass<"merge-maps", "::mlir::func::FuncOp"> {
  let summary = "makes chains of maps one map";
}

def OutlineKernelsPass : Pass<"outline-kernels", "::mlir::ModuleOp"> {
  let summary = "outlines every kernel into a separate module and shares equal modules";
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

def SeparatePaddingPass : Pass<"separate-padding", "::mlir::func::FuncOp"> {
  let summary = "separates padding from windows and turns averages into sums";
}

def GatherToSlicesPass : Pass<"gather-to-slices", "::mlir::func::FuncOp"> {
  let summary = "turns gathers with constant, contiguous indices into slices";
}

def SimplifyAlgebraPass : Pass<"simplify-algebra", "::mlir::func::FuncOp"> {
  let summary = "removes and merges operators by algebraic identities";
}

def SimplifyScalarsPass : Pass<"simplify-scalars", "::mlir::func::FuncOp"> {
  let summary = "algebra on the scalar bodies of fused kernels";
}

def SliceStridedOperandsPass : Pass<"slice-strided-operands", "::mlir::func::FuncOp"> {
  let summary = "reads with a step become plain reads of a strided slice (level 3)";
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def SplitGradientPass : Pass<"split-gradient", "::mlir::ModuleOp"> {
  let summary = "splits a differentiated program into a forward and a backward one";
  let options = [
    Option<"budget", "budget", "int64_t", "-1",
           "limit on the saved bytes in addition to inputs and outputs; negative: the fastest split">,
    Option<"target", "target", "std::string", "\"cpu:x86-64-v3\"", "whose machine, as of --target">
  ];
}

def VerifyLevel1Pass : Pass<"verify-level1", "::mlir::func::FuncOp"> {
  let summary = "checks the contract of level 1: operators only, every size known";
}

def VerifyLevel2Pass : Pass<"verify-level2", "::mlir::func::FuncOp"> {
  let summary = "checks the contract of level 2: kernels of linalg over plain tensors";
}

def VerifyLevel3Pass : Pass<"verify-level3", "::mlir::func::FuncOp"> {
  let summary = "checks the contract of level 3: buffers and plain loops";
}

#endif
