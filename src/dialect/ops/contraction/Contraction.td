//===- Contraction.td - sums of products over any pair of tensors -------------===//
#ifndef HEADRACE_DIALECT_OPS_CONTRACTION_TD
#define HEADRACE_DIALECT_OPS_CONTRACTION_TD

include "dialect/ops/Operator.td"

def Hr_ContractOp : Hr_Operator<"contract",
    ["buildBody", "getInitialValue", "getFusionRole", "gradient"],
    [InferTypeOpAdaptor]> {
  let summary = "a sum of products over any pair of tensors (matmuls, batched or not)";
  let description = [{
    `maps` gives for lhs, rhs and result the iteration dimensions that index them; a dimension
    that the result lacks is summed over.
    ```
    %c = hr.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>,
                                  affine_map<(m, n, k) -> (k, n)>,
                                  affine_map<(m, n, k) -> (m, n)>] : ...
    ```
    The operands' elements are widened to `accumulator`, the type of sums and result: integers of
    any sign to signless ones, floats to floats. Without it, all three have one type.
    `unsigned_lhs` and `unsigned_rhs` say so of operands whose type does not (`legalize-types`).
    ```
    %c = hr.contract %a, %b maps [...] {accumulator = i32} : (tensor<4x8xui8>, tensor<8x3xi8>) -> tensor<4x3xi32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs, AffineMapArrayAttr:$maps,
                       OptionalAttr<TypeAttr>:$accumulator, UnitAttr:$unsigned_lhs,
                       UnitAttr:$unsigned_rhs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs `maps` $maps attr-dict `:` functional-type(operands, results)";
}

#endif
