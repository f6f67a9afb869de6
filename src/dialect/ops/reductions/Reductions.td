//===- Reductions.td - elements reduced along axes, all of them or step by step ===//
#ifndef HEADRACE_DIALECT_OPS_REDUCTIONS_TD
#define HEADRACE_DIALECT_OPS_REDUCTIONS_TD

include "dialect/ops/Operator.td"

def Hr_ReduceOp : Hr_Operator<"reduce",
    ["expand", "buildBody", "getInitialValue", "addsUp", "getFusionRole", "getLayoutRole", "permute", "gradient"],
    [InferTypeOpAdaptor]> {
  let summary = "reduces the elements along some axes";
  let arguments = (ins AnyRankedTensor:$input, Hr_ReduceKindAttr:$kind,
                       DenseI64ArrayAttr:$axes, DefaultValuedAttr<BoolAttr, "false">:$keep_dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $input `axes` $axes attr-dict `:` functional-type(operands, results)";
}

def Hr_ScanOp : Hr_Operator<"scan", ["lowerToLinalg", "addsUp", "gradient"], [InferTypeOpAdaptor]> {
  let summary = "scans the elements along an axis: cumulative sums and products";
  let description = [{
    `exclusive`: without the element itself, so that the first result is the neutral number.
    `reverse`: from the end of the axis on.
  }];
  let arguments = (ins AnyRankedTensor:$input, Hr_ReduceKindAttr:$kind, I64Attr:$axis,
                       DefaultValuedAttr<BoolAttr, "false">:$exclusive,
                       DefaultValuedAttr<BoolAttr, "false">:$reverse);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $input attr-dict `:` functional-type(operands, results)";
}

#endif
