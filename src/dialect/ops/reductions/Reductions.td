//===- Reductions.td - elements combined along axes ---------------------------===//
#ifndef HEADRACE_DIALECT_OPS_REDUCTIONS_TD
#define HEADRACE_DIALECT_OPS_REDUCTIONS_TD

include "dialect/ops/Operator.td"

def Hr_ReduceOp : Hr_Operator<"reduce",
    ["expand", "buildBody", "getInitialValue", "addsUp", "getFusionRole", "getLayoutRole", "permute", "gradient"],
    [InferTypeOpAdaptor]> {
  let summary = "combines the elements along some axes";
  let arguments = (ins AnyRankedTensor:$input, Hr_ReduceKindAttr:$kind,
                       DenseI64ArrayAttr:$axes, DefaultValuedAttr<BoolAttr, "false">:$keep_dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $input `axes` $axes attr-dict `:` functional-type(operands, results)";
}

#endif
