//===- Contraction.td - sums of products over any pair of tensors -------------===//
#ifndef HEADRACE_DIALECT_OPS_CONTRACTION_TD
#define HEADRACE_DIALECT_OPS_CONTRACTION_TD

include "dialect/ops/Operator.td"

def Hr_ContractOp : Hr_Operator<"contract",
    ["buildBody", "getInitialValue", "getFusionRole", "gradient"],
    [InferTypeOpAdaptor]> {
  let summary = "a sum of products over any pair of tensors (matrix products, batched or not)";
  let description = [{
    `maps` gives for lhs, rhs and result the iteration dimensions that index them; a dimension
    that the result lacks is summed over.
    ```
    %c = hr.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>,
                                  affine_map<(m, n, k) -> (k, n)>,
                                  affine_map<(m, n, k) -> (m, n)>] : ...
    ```
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs, AffineMapArrayAttr:$maps);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs `maps` $maps attr-dict `:` functional-type(operands, results)";
}

#endif
