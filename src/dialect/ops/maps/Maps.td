//===- Maps.td - element-wise work --------------------------------------------===//
#ifndef HEADRACE_DIALECT_OPS_MAPS_TD
#define HEADRACE_DIALECT_OPS_MAPS_TD

include "dialect/ops/Operator.td"

def Hr_MapOp : Hr_Operator<"map",
    ["buildBody", "getFusionRole", "getLayoutRole", "gradient"],
    [IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">, InferTypeOpAdaptor]> {
  let summary = "a scalar function applied to every element";
  let description = [{
    Operands are broadcast to one shape as in NumPy (aligned at the last dimension; a dimension of
    constant size 1 is repeated). The body takes one scalar per operand and yields one.
    ```
    %y = hr.map(%x, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> {
    ^bb0(%xi: f32, %bi: f32):
      %s = arith.addf %xi, %bi : f32
      hr.yield %s : f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, results) $body";
  let hasRegionVerifier = 1;
}

#endif
