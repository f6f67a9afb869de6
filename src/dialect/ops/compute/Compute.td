//===- Compute.td - any scalar function of elements that maps or indices pick -===//
#ifndef HEADRACE_DIALECT_OPS_COMPUTE_TD
#define HEADRACE_DIALECT_OPS_COMPUTE_TD

include "dialect/ops/Operator.td"

def Hr_ComputeOp : Hr_Operator<"compute",
    ["buildBody", "getInitialValue", "getFusionRole", "gradient"],
    [IsolatedFromAbove, AttrSizedOperandSegments, InferTypeOpAdaptor]> {
  let summary = "any scalar function of elements that affine maps or indices select, with or without a reduction";
  let description = [{
    `domain` gives the sizes of the iteration dimensions: the result's, then the last `reduced` ones,
    which are combined away. The body takes the element that its map picks from each input, and each
    table as a whole, from which `hr.element` reads by index; `hr.index` is the position of the
    point itself. `combine` joins the accumulator with one more value, in any order; it starts
    from `initial`.
    ```
    %c = hr.compute(%a, %b) over affine_map<()[s0] -> (s0, 8)>
         maps [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (k)>]
         {reduced = 1, initial = 0.0 : f32} : ... {
    ^bb0(%x: f32, %w: f32):
      %p = arith.mulf %x, %w : f32
      hr.yield %p : f32
    } combine {
    ^bb0(%sum: f32, %p: f32):
      %s = arith.addf %sum, %p : f32
      hr.yield %s : f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Variadic<AnyRankedTensor>:$tables,
                       AffineMapAttr:$domain, AffineMapArrayAttr:$maps,
                       DefaultValuedAttr<I64Attr, "0">:$reduced,
                       OptionalAttr<TypedAttrInterface>:$initial);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$body, AnyRegion:$combine);
  let assemblyFormat = [{
    `(` $inputs `)` (`tables` `(` $tables^ `)`)? `over` $domain `maps` $maps attr-dict
    `:` functional-type(operands, results) $body (`combine` $combine^)?
  }];
  let hasRegionVerifier = 1;
}

def Hr_IndexOp : Hr_Op<"index", [Pure]> {
  let summary = "the position along a dimension of the domain, in the body of a compute";
  let arguments = (ins I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$dim attr-dict";
}

def Hr_ElementOp : Hr_Op<"element", [Pure]> {
  let summary = "an element of a table by its indices; one outside counts as the nearest inside";
  let description = [{ No index can read outside the table. An empty table reads as zero. }];
  let arguments = (ins AnyRankedTensor:$table, Variadic<Index>:$indices);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$table `[` $indices `]` attr-dict `:` type($table) `->` type($result)";
}

#endif
