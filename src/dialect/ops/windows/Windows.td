//===- Windows.td - convolutions and poolings, and what their gradients are made of ===//
#ifndef HEADRACE_DIALECT_OPS_WINDOWS_TD
#define HEADRACE_DIALECT_OPS_WINDOWS_TD

include "dialect/ops/Operator.td"

def Hr_ConvOp : Hr_Operator<"conv",
    ["buildBody", "getInitialValue", "isPadded", "getFusionRole", "getLayoutRole", "isImageOperand", "permute", "gradient"],
    [InferTypeOpAdaptor]> {
  let summary = "convolution over any number of spatial dimensions";
  let description = [{
    channels_first: input [N, C, spatial...], filter [F, C/groups, window...];
    channels_last: input [N, spatial..., C], filter [window..., C/groups, F].
    `pads` holds all low pads, then all high ones. `accumulator`, `unsigned_input` and
    `unsigned_filter` are as in `hr.contract`.
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$filter,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads, I64Attr:$groups, Hr_ChannelLayoutAttr:$layout,
                       OptionalAttr<TypeAttr>:$accumulator, UnitAttr:$unsigned_input,
                       UnitAttr:$unsigned_filter);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$layout $input `,` $filter attr-dict `:` functional-type(operands, results)";
}

def Hr_PoolOp : Hr_Operator<"pool",
    ["expand", "buildBody", "getInitialValue", "isPadded", "addsUp", "getFusionRole", "getLayoutRole", "permute", "gradient"],
    [InferTypeOpAdaptor]> {
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

def Hr_ConvFilterOp : Hr_Operator<"conv_filter",
    ["buildBody", "getInitialValue", "isPadded", "getFusionRole", "getLayoutRole", "permute", "gradient"]> {
  let summary = "gradient of a convolution by its filter: correlates its input with the gradient of its result";
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

def Hr_PoolIndexOp : Hr_Operator<"pool_index",
    ["buildBody", "getInitialValue", "isPadded", "getFusionRole", "getLayoutRole", "isImageOperand", "permute"]> {
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

def Hr_UnpoolOp : Hr_Operator<"unpool",
    ["lowerToLinalg", "addsUp", "getLayoutRole", "permute", "gradient"]> {
  let summary = "every element of an image sums the values of the windows that contain it";
  let description = [{
    With `indices` (see `hr.pool_index`), a window gives its value to that one of its elements
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

#endif
