//===- Trees.td - forests of decision trees -----------------------------------===//
#ifndef HEADRACE_DIALECT_OPS_TREES_TD
#define HEADRACE_DIALECT_OPS_TREES_TD

include "dialect/ops/Operator.td"

def Hr_ForestOp : Hr_Operator<"forest", ["lowerToLinalg"]> {
  let summary = "evaluates decision trees: reduces the weights of the leaves that each row reaches";
  let description = [{
    Every row follows every tree from its root to a leaf, and the rows of `weights` that the leaves
    name are reduced in the order of the trees. Nodes are 64-bit words, one for rows of f32 and two
    for rows of f64 (runtime/library/Forest.h has their fields).

    | operand | shape | |
    |---|---|---|
    | `rows` | [rows, features] | f32 or f64 |
    | `roots` | [trees] of i32 | where the nodes of each tree begin; its root is the next place |
    | `depths` | [trees] of i32 | how many steps a walk takes at most |
    | `nodes` | [places], f64: [places, 2], of i64 | |
    | `leaves` | [places] of i32 | the row of `weights` of places that are leaves |
    | `weights` | [leaves, targets] | of the rows' type |

    `treats_nan` says that nodes have a bit for features which are not a number.
    ```
    %y = hr.forest %rows, %roots, %depths, %nodes, %leaves, %weights
         {feature_bits = 5 : i64, depth = 31 : i64, kind = #hr<reduce_kind sum>} : ... -> tensor<?x1xf32>
    ```
    `depth` is the largest of `depths`. Processors have a routine for it, which ends when all walks
    have reached a leaf; other targets walk all steps.
  }];
  let arguments = (ins AnyRankedTensor:$rows, AnyRankedTensor:$roots, AnyRankedTensor:$depths,
                       AnyRankedTensor:$nodes, AnyRankedTensor:$leaves, AnyRankedTensor:$weights,
                       I64Attr:$feature_bits, I64Attr:$depth, UnitAttr:$treats_nan,
                       Hr_ReduceKindAttr:$kind);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif
