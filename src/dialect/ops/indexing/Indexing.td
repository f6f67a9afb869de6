//===- Indexing.td - elements picked and placed by index ----------------------===//
#ifndef HEADRACE_DIALECT_OPS_INDEXING_TD
#define HEADRACE_DIALECT_OPS_INDEXING_TD

include "dialect/ops/Operator.td"

def Hr_GatherOp : Hr_Operator<"gather", ["lowerToLinalg", "gradient"], [InferTypeOpAdaptor]> {
  let summary = "picks slices of `data` along an axis by index; negative indices count from the end";
  let description = [{ One outside the axis means its nearest end: `hr.check` makes it an error. }];
  let arguments = (ins AnyRankedTensor:$data, AnyRankedTensor:$indices, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$data `,` $indices attr-dict `:` functional-type(operands, results)";
}

def Hr_ScatterAddOp : Hr_Operator<"scatter_add", ["lowerToLinalg", "addsUp", "gradient"]> {
  let summary = "adds the rows of `updates` [outer, T, inner] to the rows of zeros that `indices` [T] name";
  let description = [{
    The gradient of a gather: the result is [outer, size, inner]. Negative indices count from the
    end; one outside the axis means its nearest end.
  }];
  let arguments = (ins AnyRankedTensor:$updates, AnyRankedTensor:$indices);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$updates `,` $indices attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif
