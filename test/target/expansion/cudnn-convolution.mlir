// RUN: hr-opt %s --pass-pipeline='builtin.module(func.func(choose-expansions{prefer=cudnn target=cuda:sm_90a}))' | FileCheck %s

// Padding, bias, a residual and Relu are part of the call; the filter is read as it was stored.
// CHECK: #[[PARAMETERS:.*]] = affine_map<() -> (2, 8, 8, 16, 32, 3, 3, 8, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)>
// CHECK-LABEL: func.func @convolution(
// CHECK-SAME: %[[X:.*]]: tensor<2x8x8x16xbf16>, %[[W:.*]]: tensor<32x3x3x16xbf16>, %[[B:.*]]: tensor<1x1x1x32xf32>, %[[Z:.*]]: tensor<2x8x8x32xbf16>
// CHECK: %[[BIAS:.*]] = hr.reshape %[[B]]
// CHECK: %[[Y:.*]] = hr.library "cudnn.convolution"(%[[X]], %[[W]], %[[BIAS]], %[[Z]])
// CHECK-SAME: parameters = #[[PARAMETERS]]
// CHECK-NOT: hr.map
// CHECK: return %[[Y]]
func.func @convolution(%x: tensor<2x8x8x16xbf16>, %w: tensor<32x3x3x16xbf16>, %b: tensor<1x1x1x32xf32>,
                       %z: tensor<2x8x8x32xbf16>) -> tensor<2x8x8x32xbf16> {
  %f = hr.transpose %w [1, 2, 3, 0] : (tensor<32x3x3x16xbf16>) -> tensor<3x3x16x32xbf16>
  %p = hr.pad %x {low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, value = 0.0 : bf16}
      : (tensor<2x8x8x16xbf16>) -> tensor<2x10x10x16xbf16>
  %c = hr.conv channels_last %p, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<2x10x10x16xbf16>, tensor<3x3x16x32xbf16>) -> tensor<2x8x8x32xbf16>
  %0 = hr.map(%c, %b) : (tensor<2x8x8x32xbf16>, tensor<1x1x1x32xf32>) -> tensor<2x8x8x32xbf16> {
  ^bb0(%a: bf16, %d: f32):
    %e = arith.extf %a : bf16 to f32
    %s = arith.addf %e, %d : f32
    %t = arith.truncf %s : f32 to bf16
    hr.yield %t : bf16
  }
  %1 = hr.map(%0, %z) : (tensor<2x8x8x32xbf16>, tensor<2x8x8x32xbf16>) -> tensor<2x8x8x32xbf16> {
  ^bb0(%a: bf16, %d: bf16):
    %s = arith.addf %a, %d : bf16
    hr.yield %s : bf16
  }
  %2 = hr.map(%1) : (tensor<2x8x8x32xbf16>) -> tensor<2x8x8x32xbf16> {
  ^bb0(%a: bf16):
    %zero = arith.constant 0.0 : bf16
    %s = arith.maximumf %a, %zero : bf16
    hr.yield %s : bf16
  }
  return %2 : tensor<2x8x8x32xbf16>
}

// What else is read stays: the convolution's own result is computed and read twice.
// CHECK-LABEL: func.func @shared(
// CHECK: %[[C:.*]] = hr.library "cudnn.convolution"
// CHECK: hr.map(%[[C]])
func.func @shared(%x: tensor<2x8x8x16xbf16>, %f: tensor<3x3x16x32xbf16>)
    -> (tensor<2x6x6x32xbf16>, tensor<2x6x6x32xbf16>) {
  %c = hr.conv channels_last %x, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<2x8x8x16xbf16>, tensor<3x3x16x32xbf16>) -> tensor<2x6x6x32xbf16>
  %y = hr.map(%c) : (tensor<2x6x6x32xbf16>) -> tensor<2x6x6x32xbf16> {
  ^bb0(%a: bf16):
    %zero = arith.constant 0.0 : bf16
    %s = arith.maximumf %a, %zero : bf16
    hr.yield %s : bf16
  }
  return %c, %y : tensor<2x6x6x32xbf16>, tensor<2x6x6x32xbf16>
}
