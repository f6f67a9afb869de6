//===- Folds.td - reductions of tuples ------------------------------------------===//
#ifndef HEADRACE_DIALECT_OPS_FOLDS_TD
#define HEADRACE_DIALECT_OPS_FOLDS_TD

include "dialect/ops/Operator.td"

def Hr_FoldOp : Hr_Operator<"fold", ["lowerToLinalg", "getInitialValue"],
                            [IsolatedFromAbove, AttrSizedOperandSegments, InferTypeOpAdaptor]> {
  let summary = "one component of a reduction of tuples, with any function of two tuples";
  let description = [{
    Domain, maps, tables and body are those of `hr.compute`. The body yields a tuple; `combine`
    takes two tuples, in any order, and yields one; the reduction starts from `initial`. The result
    is one component of the last tuple. The place of the largest element:
    ```
    %i = hr.fold(%a) over affine_map<() -> (8, 16)> maps [affine_map<(i, k) -> (i, k)>]
         component 0 {reduced = 1, initial = [0, 0xFF800000 : f32]} : (tensor<8x16xf32>) -> tensor<8xi64> {
    ^bb0(%x: f32):
      %k = hr.index 1
      %p = arith.index_cast %k : index to i64
      hr.yield %p, %x : i64, f32
    } combine {
    ^bb0(%p: i64, %x: f32, %q: i64, %y: f32):
      %less = arith.cmpf olt, %x, %y : f32
      %i = arith.select %less, %q, %p : i64
      %m = arith.select %less, %y, %x : f32
      hr.yield %i, %m : i64, f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Variadic<AnyRankedTensor>:$tables,
      AffineMapAttr:$domain, AffineMapArrayAttr:$maps, I64Attr:$component, I64Attr:$reduced,
      ArrayAttr:$initial);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$body, SizedRegion<1>:$combine);
  let assemblyFormat = [{
    `(` $inputs `)` (`tables` `(` $tables^ `)`)? `over` $domain `maps` $maps
    `component` $component attr-dict `:` functional-type(operands, results) $body `combine` $combine
  }];
  let hasRegionVerifier = 1;
}

#endif
