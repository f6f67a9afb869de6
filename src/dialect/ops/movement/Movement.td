//===- Movement.td - elements moved, none computed ----------------------------===//
#ifndef HEADRACE_DIALECT_OPS_MOVEMENT_TD
#define HEADRACE_DIALECT_OPS_MOVEMENT_TD

include "dialect/ops/Operator.td"

def Hr_TransposeOp : Hr_Operator<"transpose",
    ["buildBody", "getLayoutRole", "isImageOperand", "gradient"],
    [InferTypeOpAdaptor]> {
  let summary = "permutes dimensions: result dimension i is input dimension permutation[i]";
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Hr_ReshapeOp : Hr_Operator<"reshape", ["getFusionRole", "getLayoutRole", "gradient"]> {
  let summary = "the same elements in row-major order under another shape; moves nothing";
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Hr_BroadcastOp : Hr_Operator<"broadcast",
    ["buildBody", "getFusionRole", "getLayoutRole", "gradient"]> {
  let summary = "repeats dimensions of size 1 and adds leading ones, as in NumPy";
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Hr_SliceOp : Hr_Operator<"slice", ["lowerToLinalg", "getLayoutRole", "permute", "gradient"]> {
  let summary = "every `steps`-th element from `starts` on; a step may be negative";
  let description = [{ `starts` holds one affine expression of the symbols per dimension. }];
  let arguments = (ins AnyRankedTensor:$input, AffineMapAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `from` $starts `steps` $steps attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Hr_ConcatOp : Hr_Operator<"concat",
    ["lowerToLinalg", "getLayoutRole", "permute", "gradient"],
    [InferTypeOpAdaptor]> {
  let summary = "concatenates tensors along an axis";
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type(operands, results)";
}

def Hr_PadOp : Hr_Operator<"pad",
    ["lowerToLinalg", "getLayoutRole", "permute", "gradient"],
    [InferTypeOpAdaptor]> {
  let summary = "surrounds a tensor with a constant";
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       TypedAttrInterface:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Hr_PlaceOp : Hr_Operator<"place", ["lowerToLinalg", "getLayoutRole", "permute", "gradient"]> {
  let summary = "zeros, with the input's elements at every `steps`-th position from `starts` on";
  let description = [{ The gradient of a slice: its elements are put back. Steps are positive. }];
  let arguments = (ins AnyRankedTensor:$input, AffineMapAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `from` $starts `steps` $steps attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif
