//===- Normalization.td - softmax and normalizations, expanded at level 1 -----===//
#ifndef HEADRACE_DIALECT_OPS_NORMALIZATION_TD
#define HEADRACE_DIALECT_OPS_NORMALIZATION_TD

include "dialect/ops/Operator.td"

def Hr_SoftmaxOp : Hr_Operator<"softmax",
    ["expand", "addsUp", "getLayoutRole", "permute", "gradient"],
    [InferTypeOpAdaptor]> {
  let summary = "exp(x) normalized to sum 1 along an axis; with `log`, its logarithm";
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$axis,
                       DefaultValuedAttr<BoolAttr, "false">:$log);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Hr_LayerNormOp : Hr_Operator<"layer_norm",
    ["expand", "addsUp", "gradient"],
    [InferTypeOpAdaptor]> {
  let summary = "mean 0 and variance 1 over the axes from `axis` on, then scaled and shifted";
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$scale,
                       Optional<AnyRankedTensor>:$bias, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `,` $scale (`,` $bias^)? attr-dict `:` functional-type(operands, results)";
}

def Hr_BatchNormOp : Hr_Operator<"batch_norm",
    ["expand", "addsUp", "getLayoutRole", "isImageOperand", "permute", "gradient"],
    [InferTypeOpAdaptor]> {
  let summary = "normalization by given per-channel statistics (inference)";
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$scale, AnyRankedTensor:$bias,
                       AnyRankedTensor:$mean, AnyRankedTensor:$variance, F64Attr:$epsilon,
                       Hr_ChannelLayoutAttr:$layout);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$layout operands attr-dict `:` functional-type(operands, results)";
}

#endif
