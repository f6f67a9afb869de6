// RUN: hr-opt --fold-batch-norm %s | FileCheck %s
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,fold-batch-norm,compare-answers))' %s -o /dev/null

// CHECK-LABEL: func.func @first
// CHECK-NOT: hr.batch_norm
// CHECK: %[[F:.*]] = hr.map({{.*}}) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK: math.sqrt
// CHECK: arith.divf
// CHECK: %[[B:.*]] = hr.map({{.*}}, %[[F]]) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK: arith.subf
// CHECK: %[[FR:.*]] = hr.reshape %[[F]] : (tensor<2xf32>) -> tensor<2x1x1x1xf32>
// CHECK: %[[W:.*]] = hr.map(%{{.*}}, %[[FR]]) : (tensor<2x3x3x3xf32>, tensor<2x1x1x1xf32>) -> tensor<2x3x3x3xf32>
// CHECK: arith.mulf
// CHECK: %[[C:.*]] = hr.conv channels_first %{{.*}}, %[[W]]
// CHECK: %[[BR:.*]] = hr.reshape %[[B]] : (tensor<2xf32>) -> tensor<2x1x1xf32>
// CHECK: hr.map(%[[C]], %[[BR]])
// CHECK: arith.addf
func.func @first(%x: tensor<1x3x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %w = hr.constant dense<1.0> : tensor<2x3x3x3xf32>
  %s = hr.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = hr.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %m = hr.constant dense<[5.0, 6.0]> : tensor<2xf32>
  %v = hr.constant dense<[7.0, 8.0]> : tensor<2xf32>
  %0 = hr.conv channels_first %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x8x8xf32>
  %1 = hr.batch_norm channels_first %0, %s, %b, %m, %v {epsilon = 1.0e-5 : f64}
      : (tensor<1x2x8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32>
  return %1 : tensor<1x2x8x8xf32>
}

// Channels last, and a bias between: bias + (added - mean) * factor.
// CHECK-LABEL: func.func @last_with_bias
// CHECK-NOT: hr.batch_norm
// CHECK: %[[F:.*]] = hr.map({{.*}}) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK: %[[B:.*]] = hr.map({{.*}}, %[[F]], %{{.*}}) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK: %[[D:.*]] = arith.subf
// CHECK: %[[P:.*]] = arith.mulf %[[D]]
// CHECK: arith.addf %{{.*}}, %[[P]]
// CHECK: %[[W:.*]] = hr.map(%{{.*}}, %[[F]]) : (tensor<3x3x3x2xf32>, tensor<2xf32>) -> tensor<3x3x3x2xf32>
// CHECK: %[[C:.*]] = hr.conv channels_last %{{.*}}, %[[W]]
// CHECK: %[[Y:.*]] = hr.map(%[[C]], %[[B]])
// CHECK: return %[[Y]]
func.func @last_with_bias(%x: tensor<1x8x8x3xf32>) -> tensor<1x8x8x2xf32> {
  %w = hr.constant dense<1.0> : tensor<3x3x3x2xf32>
  %s = hr.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = hr.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %m = hr.constant dense<[5.0, 6.0]> : tensor<2xf32>
  %v = hr.constant dense<[7.0, 8.0]> : tensor<2xf32>
  %a = hr.constant dense<[[[[9.0, 10.0]]]]> : tensor<1x1x1x2xf32>
  %0 = hr.conv channels_last %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<1x8x8x3xf32>, tensor<3x3x3x2xf32>) -> tensor<1x8x8x2xf32>
  %1 = hr.map(%0, %a) : (tensor<1x8x8x2xf32>, tensor<1x1x1x2xf32>) -> tensor<1x8x8x2xf32> {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    hr.yield %r : f32
  }
  %2 = hr.batch_norm channels_last %1, %s, %b, %m, %v {epsilon = 1.0e-5 : f64}
      : (tensor<1x8x8x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x8x8x2xf32>
  return %2 : tensor<1x8x8x2xf32>
}

// The convolution has another user: it stays.
// CHECK-LABEL: func.func @two_users
// CHECK: hr.batch_norm
func.func @two_users(%x: tensor<1x3x8x8xf32>) -> (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) {
  %w = hr.constant dense<1.0> : tensor<2x3x3x3xf32>
  %s = hr.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = hr.conv channels_first %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x8x8xf32>
  %1 = hr.batch_norm channels_first %0, %s, %s, %s, %s {epsilon = 1.0e-5 : f64}
      : (tensor<1x2x8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32>
  return %0, %1 : tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>
}

// The added values differ from place to place: not a bias.
// CHECK-LABEL: func.func @image_added
// CHECK: hr.batch_norm
func.func @image_added(%x: tensor<1x1x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %w = hr.constant dense<1.0> : tensor<2x1x1x1xf32>
  %s = hr.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = hr.conv channels_first %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32>
  %1 = hr.map(%0, %s) : (tensor<1x2x2x2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32> {
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    hr.yield %r : f32
  }
  %2 = hr.batch_norm channels_first %1, %s, %s, %s, %s {epsilon = 1.0e-5 : f64}
      : (tensor<1x2x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32>
  return %2 : tensor<1x2x2x2xf32>
}
