//===- Indexing.td - elements picked and placed by index ----------------------===//
#ifndef HEADRACE_DIALECT_OPS_INDEXING_TD
#define HEADRACE_DIALECT_OPS_INDEXING_TD

include "dialect/ops/Operator.td"

def Hr_GatherOp : Hr_Operator<"gather", ["lowerToLinalg", "gradient"], [InferTypeOpAdaptor]> {
  let summary = "gathers slices of `data` along an axis; negative indices count from the end";
  let description = [{ One outside the axis means its nearest end: `hr.check` makes it an error. }];
  let arguments = (ins AnyRankedTensor:$data, AnyRankedTensor:$indices, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$data `,` $indices attr-dict `:` functional-type(operands, results)";
}

def Hr_ScatterOp : Hr_Operator<"scatter", ["expand", "lowerToLinalg", "addsUp", "gradient"]> {
  let summary = "puts the rows of `updates` [outer, T, inner] where `indices` [T] say";
  let description = [{
    The result is [outer, size, inner]: `data`, or zeros where there is none, with the rows of the
    updates combined into it as `kind` says, in their order; without a kind a row replaces what is
    there, and the last one stays. Negative indices count from the end; one outside the axis means
    its nearest end. With `sum` on zeros it is the gradient of a gather.
    ```
    %y = hr.scatter %updates, %indices by sum : (tensor<2x5x3xf32>, tensor<5xi64>) -> tensor<2x9x3xf32>
    %z = hr.scatter %updates, %indices into %data : ...
    ```
  }];
  let arguments = (ins AnyRankedTensor:$updates, AnyRankedTensor:$indices,
                       Optional<AnyRankedTensor>:$data, OptionalAttr<Hr_ReduceKindAttr>:$kind);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $updates `,` $indices (`into` $data^)? (`by` $kind^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Hr_SortOp : Hr_Operator<"sort", ["expand", "lowerToLinalg"]> {
  let summary = "the positions of the first elements along an axis, in ascending or descending order";
  let description = [{
    Equal elements keep their order; NaN is greater than any number. The result has 64-bit integers
    and as many along the axis as its type says: all positions, or the first of them (top k).
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$axis,
                       DefaultValuedAttr<BoolAttr, "false">:$descending);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif
