//===- HrOps.td - operators of level 1 ---------------------------------------===//
#ifndef HEADRACE_DIALECT_HROPS_TD
#define HEADRACE_DIALECT_HROPS_TD

include "dialect/HrDialect.td"
include "dialect/HrInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// A structured operator: data movement and body say everything.
class Hr_StructuredOp<string mnemonic, list<Trait> traits = []>
    : Hr_Op<mnemonic, traits # [Pure, InferTypeOpAdaptor,
        DeclareOpInterfaceMethods<Hr_OperatorInterface, ["buildBody", "gradient"]>]>;

// A structured operator that combines elements.
class Hr_ReductionOp<string mnemonic, list<Trait> traits = []>
    : Hr_Op<mnemonic, traits # [Pure, InferTypeOpAdaptor,
        DeclareOpInterfaceMethods<Hr_OperatorInterface, ["buildBody", "getInitialValue", "gradient"]>]>;

// An operator that is rewritten into finer ones before level 2.
class Hr_CoarseOp<string mnemonic, list<Trait> traits = []>
    : Hr_Op<mnemonic, traits # [Pure, InferTypeOpAdaptor,
        DeclareOpInterfaceMethods<Hr_OperatorInterface, ["expand", "gradient"]>]>;

// An operator with movement of its own kind.
class Hr_IrregularOp<string mnemonic, list<Trait> traits = []>
    : Hr_Op<mnemonic, traits # [Pure, InferTypeOpAdaptor,
        DeclareOpInterfaceMethods<Hr_OperatorInterface, ["lowerToLinalg", "gradient"]>]>;

//===--------------------------------------------------------------------------===//
// Values
//===--------------------------------------------------------------------------===//

def Hr_ConstantOp : Hr_Op<"constant", [Pure, ConstantLike,
    DeclareOpInterfaceMethods<Hr_OperatorInterface>,
    AllTypesMatch<["value", "result"]>]> {
  let summary = "a tensor known at compile time; weights are used in place";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Hr_SizeOp : Hr_Op<"size", [Pure]> {
  let summary = "the value of a symbolic size, an index";
  let description = [{ `hr.size affine_map<()[s0] -> (s0 * 64)>`; stands in scalar bodies and kernels. }];
  let arguments = (ins AffineMapAttr:$expr);
  let results = (outs Index:$result);
  let assemblyFormat = "$expr attr-dict";
  let hasVerifier = 1;
}

def Hr_CheckOp : Hr_Op<"check", [Pure, AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<Hr_OperatorInterface, ["gradient"]>]> {
  let summary = "its input, whose elements must be allowed; moves nothing";
  let description = [{
    Some errors only data can show: an index outside its tensor, a divisor of 0, a class that does
    not exist. What reads such elements is safe for any of them (it clamps) and takes them through a
    check, which ends the run with an error that names `subject`, the first element in row-major
    order that is not allowed, and its position. Indices and targets lie in [low, high), which
    `bounds` gives as expressions of the symbols, or are `excepted`; divisors are not 0.
    ```
    %i = hr.check index %indices in affine_map<()[s0] -> (-s0, s0)> for "node 'embed' (Gather)" : tensor<4xi64>
    %y = hr.gather %table, %i {axis = 0 : i64} : ...
    ```
    It stays what it is at level 2: a step of the program between kernels.
  }];
  let arguments = (ins AnyRankedTensor:$input, Hr_CheckKindAttr:$kind, AffineMapAttr:$bounds,
                       StrAttr:$subject, OptionalAttr<I64Attr>:$excepted);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $input `in` $bounds `for` $subject (`except` $excepted^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What it asks for; bounds are those of the symbols, and left out.
    ::headrace::ValueCheck getCheck();
  }];
}

//===--------------------------------------------------------------------------===//
// Element-wise work, reductions, contractions
//===--------------------------------------------------------------------------===//

def Hr_MapOp : Hr_StructuredOp<"map", [IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">]> {
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

def Hr_ReduceOp : Hr_Op<"reduce", [Pure, InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<Hr_OperatorInterface, ["buildBody", "getInitialValue", "expand", "gradient"]>]> {
  let summary = "combines the elements along some axes";
  let arguments = (ins AnyRankedTensor:$input, Hr_ReduceKindAttr:$kind,
                       DenseI64ArrayAttr:$axes, DefaultValuedAttr<BoolAttr, "false">:$keep_dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $input `axes` $axes attr-dict `:` functional-type(operands, results)";
}

def Hr_ContractOp : Hr_ReductionOp<"contract"> {
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

def Hr_ConvOp : Hr_ReductionOp<"conv"> {
  let summary = "convolution over any number of spatial dimensions";
  let description = [{
    channels_first: input [N, C, spatial...], filter [F, C/groups, window...];
    channels_last: input [N, spatial..., C], filter [window..., C/groups, F].
    `pads` holds all low pads, then all high ones.
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$filter,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads, I64Attr:$groups, Hr_ChannelLayoutAttr:$layout);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$layout $input `,` $filter attr-dict `:` functional-type(operands, results)";
}

def Hr_PoolOp : Hr_ReductionOp<"pool"> {
  let summary = "maximum, average or sum over a sliding window";
  let description = [{
    `include_pad`: whether padded positions count in an average. Padded positions never win a maximum
    and add nothing to a sum.
  }];
  let arguments = (ins AnyRankedTensor:$input, Hr_PoolKindAttr:$kind,
                       DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads,
                       DefaultValuedAttr<BoolAttr, "false">:$include_pad,
                       Hr_ChannelLayoutAttr:$layout);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $layout $input attr-dict `:` functional-type(operands, results)";
}

def Hr_ComputeOp : Hr_Op<"compute", [Pure, IsolatedFromAbove, AttrSizedOperandSegments,
    InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<Hr_OperatorInterface, ["buildBody", "getInitialValue", "gradient"]>]> {
  let summary = "any scalar function of elements that affine maps or indices pick, combined or not";
  let description = [{
    `domain` gives the sizes of the iteration dimensions: the result's, then the last `reduced` ones,
    which are combined away. The body takes the element that its map picks from each input, and each
    table as a whole, from which `hr.element` reads by index; `hr.index` is the position of the
    point itself. `combine` joins what has been combined so far with one more value, in any order;
    it starts from `initial`.
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

//===--------------------------------------------------------------------------===//
// Windows seen from their results: what gradients of convolutions and poolings are made of
//===--------------------------------------------------------------------------===//

def Hr_ConvFilterOp : Hr_Op<"conv_filter", [Pure,
    DeclareOpInterfaceMethods<Hr_OperatorInterface, ["buildBody", "getInitialValue", "gradient"]>]> {
  let summary = "the filter whose every element sums image times output over what a convolution pairs them for";
  let description = [{
    The convolution's movement with filter and result exchanged: with `y = hr.conv x, w`, the
    gradient of `w` is `hr.conv_filter x, dy`. The result has the filter's layout and shape.
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$output,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads, I64Attr:$groups, Hr_ChannelLayoutAttr:$layout);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$layout $input `,` $output attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Hr_PoolIndexOp : Hr_Op<"pool_index", [Pure,
    DeclareOpInterfaceMethods<Hr_OperatorInterface, ["buildBody", "getInitialValue"]>]> {
  let summary = "which element of each window is its maximum: the first, counted row-major";
  let description = [{
    `maximum` is the pooling's result; `positions` numbers the elements of a window. Of the shape of
    the maximum, and of the type of the positions.
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$maximum,
                       AnyRankedTensor:$positions,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads, Hr_ChannelLayoutAttr:$layout);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $layout $input `,` $maximum `,` $positions attr-dict `:` functional-type(operands, results)
  }];
}

def Hr_UnpoolOp : Hr_Op<"unpool", [Pure,
    DeclareOpInterfaceMethods<Hr_OperatorInterface, ["lowerToLinalg", "gradient"]>]> {
  let summary = "every element of an image sums what the windows that contain it hold";
  let description = [{
    With `indices` (see `hr.pool_index`), a window gives what it holds to that one of its elements
    only. The gradient of a pooling.
  }];
  let arguments = (ins AnyRankedTensor:$input, Optional<AnyRankedTensor>:$indices,
                       DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads,
                       Hr_ChannelLayoutAttr:$layout);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$layout $input (`at` $indices^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===--------------------------------------------------------------------------===//
// Coarse operators, expanded at level 1
//===--------------------------------------------------------------------------===//

def Hr_SoftmaxOp : Hr_CoarseOp<"softmax"> {
  let summary = "exp(x) normalized to sum 1 along an axis; with `log`, its logarithm";
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$axis,
                       DefaultValuedAttr<BoolAttr, "false">:$log);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Hr_LayerNormOp : Hr_CoarseOp<"layer_norm"> {
  let summary = "mean 0 and variance 1 over the axes from `axis` on, then scaled and shifted";
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$scale,
                       Optional<AnyRankedTensor>:$bias, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `,` $scale (`,` $bias^)? attr-dict `:` functional-type(operands, results)";
}

def Hr_BatchNormOp : Hr_CoarseOp<"batch_norm"> {
  let summary = "normalization by given per-channel statistics (inference)";
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$scale, AnyRankedTensor:$bias,
                       AnyRankedTensor:$mean, AnyRankedTensor:$variance, F64Attr:$epsilon,
                       Hr_ChannelLayoutAttr:$layout);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$layout operands attr-dict `:` functional-type(operands, results)";
}

def Hr_DetachOp : Hr_CoarseOp<"detach"> {
  let summary = "its input; no gradient goes through it";
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

//===--------------------------------------------------------------------------===//
// Pure data movement
//===--------------------------------------------------------------------------===//

def Hr_TransposeOp : Hr_StructuredOp<"transpose"> {
  let summary = "permutes dimensions: result dimension i is input dimension permutation[i]";
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Hr_ReshapeOp : Hr_Op<"reshape", [Pure,
    DeclareOpInterfaceMethods<Hr_OperatorInterface, ["gradient"]>]> {
  let summary = "the same elements in row-major order under another shape; moves nothing";
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Hr_BroadcastOp : Hr_Op<"broadcast", [Pure,
    DeclareOpInterfaceMethods<Hr_OperatorInterface, ["buildBody", "gradient"]>]> {
  let summary = "repeats dimensions of size 1 and adds leading ones, as in NumPy";
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Hr_SliceOp : Hr_Op<"slice", [Pure,
    DeclareOpInterfaceMethods<Hr_OperatorInterface, ["lowerToLinalg", "gradient"]>]> {
  let summary = "every `steps`-th element from `starts` on; a step may be negative";
  let description = [{ `starts` holds one affine expression of the symbols per dimension. }];
  let arguments = (ins AnyRankedTensor:$input, AffineMapAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `from` $starts `steps` $steps attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Hr_ConcatOp : Hr_IrregularOp<"concat"> {
  let summary = "joins tensors along an axis";
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type(operands, results)";
}

def Hr_PadOp : Hr_IrregularOp<"pad"> {
  let summary = "surrounds a tensor with a constant";
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       TypedAttrInterface:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Hr_GatherOp : Hr_IrregularOp<"gather"> {
  let summary = "picks slices of `data` along an axis by index; negative indices count from the end";
  let description = [{ One outside the axis means its nearest end: `hr.check` makes it an error. }];
  let arguments = (ins AnyRankedTensor:$data, AnyRankedTensor:$indices, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$data `,` $indices attr-dict `:` functional-type(operands, results)";
}

def Hr_PlaceOp : Hr_Op<"place", [Pure,
    DeclareOpInterfaceMethods<Hr_OperatorInterface, ["lowerToLinalg", "gradient"]>]> {
  let summary = "zeros, with the input's elements at every `steps`-th position from `starts` on";
  let description = [{ What a slice takes out, put back: steps are positive. }];
  let arguments = (ins AnyRankedTensor:$input, AffineMapAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `from` $starts `steps` $steps attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Hr_ScatterAddOp : Hr_Op<"scatter_add", [Pure,
    DeclareOpInterfaceMethods<Hr_OperatorInterface, ["lowerToLinalg", "gradient"]>]> {
  let summary = "adds the rows of `updates` [outer, T, inner] to the rows of zeros that `indices` [T] name";
  let description = [{
    What a gather picks, added back: the result is [outer, size, inner]. Negative indices count from
    the end; one outside the axis means its nearest end.
  }];
  let arguments = (ins AnyRankedTensor:$updates, AnyRankedTensor:$indices);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$updates `,` $indices attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif
