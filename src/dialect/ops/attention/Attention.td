//===- Attention.td - values mixed by how well keys answer queries -------------===//
#ifndef HEADRACE_DIALECT_OPS_ATTENTION_TD
#define HEADRACE_DIALECT_OPS_ATTENTION_TD

include "dialect/ops/Operator.td"

def Hr_AttentionOp : Hr_Operator<"attention", ["expand"], [InferTypeOpAdaptor]> {
  let summary = "softmax(scale * query * key^T + bias) * value, for a batch of matrices";
  let description = [{
    Query, key and value are matrices of rows (queries q x depth, keys k x depth, values k x width)
    with equal leading dimensions; `bias` is broadcast to q x k. `causal`: query i takes no part in
    keys after i. A score of -inf takes a key out; a row of them alone is NaN, as of softmax, or 0
    where `zero_masked` is set.
    ```
    %y = hr.attention %q, %k, %v, %bias {scale = 0.125 : f64} :
         (tensor<2x12x128x64xf32>, tensor<2x12x99x64xf32>, tensor<2x12x99x64xf32>,
          tensor<128x99xf32>) -> tensor<2x12x128x64xf32>
    ```
    Its scores, q x k, are most of the data it would move: expansions differ in whether they ever
    leave the caches.
  }];
  let arguments = (ins AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
                       Optional<AnyRankedTensor>:$bias, F64Attr:$scale,
                       DefaultValuedAttr<BoolAttr, "false">:$causal,
                       DefaultValuedAttr<BoolAttr, "false">:$zero_masked);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`,` $bias^)? attr-dict `:` functional-type(operands, results)
  }];
}

#endif
