// RUN: hr-opt --channels-last --mlir-print-local-scope --split-input-file %s | FileCheck %s
// RUN: hr-opt --channels-last --channels-last --mlir-print-local-scope --split-input-file %s | FileCheck %s
// RUN: hr-opt --channels-last --fold-constants --mlir-print-local-scope --split-input-file %s | FileCheck %s --check-prefix=FOLDED
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,channels-last,compare-answers))' %s -o /dev/null

// A residual block, pooled and flattened: one transpose, of the input (and those of the filters).
// Once those are folded, exactly one is left.
// FOLDED-LABEL: func.func @residual(
// FOLDED-SAME: %[[X:[^:]*]]: tensor<?x3x8x8xf32
// FOLDED-NOT: hr.transpose
// FOLDED: hr.transpose %[[X]] [0, 2, 3, 1]
// FOLDED-NOT: hr.transpose
// FOLDED: return
// CHECK-LABEL: func.func @residual(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x3x8x8xf32
// CHECK: hr.transpose %[[X]] [0, 2, 3, 1]
// CHECK: %[[W:.*]] = hr.transpose %{{.*}} [2, 3, 1, 0] : (tensor<4x3x3x3xf32>) -> tensor<3x3x3x4xf32>
// CHECK: hr.conv channels_last %{{.*}}, %[[W]]
// CHECK: hr.batch_norm channels_last
// CHECK: hr.map({{.*}}tensor<1x1x1x4xf32>
// CHECK: hr.pool max channels_last
// CHECK: hr.transpose %{{.*}} [2, 3, 1, 0] : (tensor<4x4x3x3xf32>) -> tensor<3x3x4x4xf32>
// CHECK: hr.conv channels_last
// CHECK-NOT: hr.transpose
// CHECK: hr.map
// CHECK: hr.reduce mean %{{.*}} axes [1, 2] {keep_dims = true}
// CHECK: hr.reshape %{{.*}} -> tensor<?x4xf32
// CHECK: return
func.func @residual(%x: tensor<?x3x8x8xf32, affine_map<()[s0] -> (s0, 3, 8, 8)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>> {
  %w0 = hr.constant dense<1.0> : tensor<4x3x3x3xf32>
  %w1 = hr.constant dense<2.0> : tensor<4x4x3x3xf32>
  %p = hr.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %b = hr.constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>
  %0 = hr.conv channels_first %x, %w0 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<?x3x8x8xf32, affine_map<()[s0] -> (s0, 3, 8, 8)>>, tensor<4x3x3x3xf32>) -> tensor<?x4x8x8xf32, affine_map<()[s0] -> (s0, 4, 8, 8)>>
  %1 = hr.batch_norm channels_first %0, %p, %p, %p, %p {epsilon = 1.0e-5 : f64}
      : (tensor<?x4x8x8xf32, affine_map<()[s0] -> (s0, 4, 8, 8)>>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x8x8xf32, affine_map<()[s0] -> (s0, 4, 8, 8)>>
  %2 = hr.map(%1, %b) : (tensor<?x4x8x8xf32, affine_map<()[s0] -> (s0, 4, 8, 8)>>, tensor<4x1x1xf32>) -> tensor<?x4x8x8xf32, affine_map<()[s0] -> (s0, 4, 8, 8)>> {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %a, %c : f32
    hr.yield %s : f32
  }
  %3 = hr.pool max channels_first %2 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
      : (tensor<?x4x8x8xf32, affine_map<()[s0] -> (s0, 4, 8, 8)>>) -> tensor<?x4x4x4xf32, affine_map<()[s0] -> (s0, 4, 4, 4)>>
  %4 = hr.conv channels_first %3, %w1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<?x4x4x4xf32, affine_map<()[s0] -> (s0, 4, 4, 4)>>, tensor<4x4x3x3xf32>) -> tensor<?x4x4x4xf32, affine_map<()[s0] -> (s0, 4, 4, 4)>>
  %5 = hr.map(%3, %4) : (tensor<?x4x4x4xf32, affine_map<()[s0] -> (s0, 4, 4, 4)>>, tensor<?x4x4x4xf32, affine_map<()[s0] -> (s0, 4, 4, 4)>>) -> tensor<?x4x4x4xf32, affine_map<()[s0] -> (s0, 4, 4, 4)>> {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %a, %c : f32
    hr.yield %s : f32
  }
  %6 = hr.reduce mean %5 axes [2, 3] {keep_dims = true} : (tensor<?x4x4x4xf32, affine_map<()[s0] -> (s0, 4, 4, 4)>>) -> tensor<?x4x1x1xf32, affine_map<()[s0] -> (s0, 4, 1, 1)>>
  %7 = hr.reshape %6 : (tensor<?x4x1x1xf32, affine_map<()[s0] -> (s0, 4, 1, 1)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  return %7 : tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
}

// -----

// Between two convolutions: a pad, a concatenation, a slice. One transpose at each border.
// CHECK-LABEL: func.func @between(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x4x8x8xf32>, %[[W:[^:]*]]: tensor<4x4x1x1xf32>)
// CHECK-DAG: hr.transpose %[[X]] [0, 2, 3, 1]
// CHECK-DAG: hr.transpose %[[W]] [2, 3, 1, 0]
// CHECK: hr.conv channels_last
// CHECK-NOT: hr.transpose %{{.*}} [0,
// CHECK: hr.pad %{{.*}} {high = array<i64: 0, 2, 4, 0>, low = array<i64: 0, 1, 3, 0>
// CHECK-NOT: hr.transpose %{{.*}} [0,
// CHECK: hr.concat %{{.*}} {axis = 3 : i64} : {{.*}} -> tensor<1x11x15x8xf32>
// CHECK-NOT: hr.transpose %{{.*}} [0,
// CHECK: hr.slice %{{.*}} from affine_map<() -> (0, 1, 2, 3)> steps [1, 1, 2, 1] : {{.*}} -> tensor<1x10x6x4xf32>
// CHECK-NOT: hr.transpose %{{.*}} [0,
// CHECK: %[[Y:.*]] = hr.conv channels_last
// CHECK: %[[Z:.*]] = hr.transpose %[[Y]] [0, 3, 1, 2]
// CHECK: return %[[Z]]
func.func @between(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x10x6xf32> {
  %0 = hr.conv channels_first %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = hr.pad %0 {low = array<i64: 0, 0, 1, 3>, high = array<i64: 0, 0, 2, 4>, value = 0.0 : f32} : (tensor<1x4x8x8xf32>) -> tensor<1x4x11x15xf32>
  %2 = hr.concat %1, %1 {axis = 1 : i64} : (tensor<1x4x11x15xf32>, tensor<1x4x11x15xf32>) -> tensor<1x8x11x15xf32>
  %3 = hr.slice %2 from affine_map<() -> (0, 3, 1, 2)> steps [1, 1, 1, 2] : (tensor<1x8x11x15xf32>) -> tensor<1x4x10x6xf32>
  %4 = hr.conv channels_first %3, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x4x10x6xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x10x6xf32>
  return %4 : tensor<1x4x10x6xf32>
}

// -----

// The transposes of a program that came from channels-last sources are gone.
// CHECK-LABEL: func.func @written_last(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x8x8x4xf32>, %[[W:[^:]*]]:
// CHECK-NEXT: %[[V:.*]] = hr.transpose %[[W]] [2, 3, 1, 0]
// CHECK-NEXT: %[[Y:.*]] = hr.conv channels_last %[[X]], %[[V]]
// CHECK-NEXT: return %[[Y]]
func.func @written_last(%x: tensor<1x8x8x4xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x8x8x4xf32> {
  %0 = hr.transpose %x [0, 3, 1, 2] : (tensor<1x8x8x4xf32>) -> tensor<1x4x8x8xf32>
  %1 = hr.conv channels_first %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
  %2 = hr.transpose %1 [0, 2, 3, 1] : (tensor<1x4x8x8xf32>) -> tensor<1x8x8x4xf32>
  return %2 : tensor<1x8x8x4xf32>
}

// -----

// Three results of one convolution: one transpose for all, before the maps, not one after each.
// CHECK-LABEL: func.func @shared
// CHECK: %[[C:.*]] = hr.conv channels_last
// CHECK-NEXT: %[[T:.*]] = hr.transpose %[[C]] [0, 3, 1, 2]
// CHECK-NOT: hr.transpose
// CHECK: return %[[T]]
func.func @shared(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x3x3xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  %0 = hr.conv channels_first %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
  %1 = hr.map(%0) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  ^bb0(%a: f32):
    %s = math.exp %a : f32
    hr.yield %s : f32
  }
  %2 = hr.map(%0) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  ^bb0(%a: f32):
    %s = math.tanh %a : f32
    hr.yield %s : f32
  }
  return %0, %1, %2 : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}

// -----

// One spatial dimension: both transposes are [0, 2, 1].
// CHECK-LABEL: func.func @one_dimension(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x8x4xf32>, %[[W:[^:]*]]:
// CHECK-NEXT: %[[V:.*]] = hr.transpose %[[W]] [2, 1, 0]
// CHECK-NEXT: %[[Y:.*]] = hr.conv channels_last %[[X]], %[[V]]
// CHECK-NEXT: return %[[Y]]
func.func @one_dimension(%x: tensor<1x8x4xf32>, %w: tensor<4x4x3xf32>) -> tensor<1x8x4xf32> {
  %0 = hr.transpose %x [0, 2, 1] : (tensor<1x8x4xf32>) -> tensor<1x4x8xf32>
  %1 = hr.conv channels_first %0, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<1x4x8xf32>, tensor<4x4x3xf32>) -> tensor<1x4x8xf32>
  %2 = hr.transpose %1 [0, 2, 1] : (tensor<1x4x8xf32>) -> tensor<1x8x4xf32>
  return %2 : tensor<1x8x4xf32>
}

// -----

// Without an image operator nothing is touched.
// CHECK-LABEL: func.func @no_image
// CHECK-NEXT: hr.map
// CHECK: hr.softmax %{{.*}} {axis = 1 : i64}
// CHECK-NEXT: return
func.func @no_image(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %0 = hr.map(%x) : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  ^bb0(%a: f32):
    %s = math.exp %a : f32
    hr.yield %s : f32
  }
  %1 = hr.softmax %0 {axis = 1 : i64} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %1 : tensor<1x4x8xf32>
}

// A filter's gradient: its operands are images, its result is a filter.
// CHECK-LABEL: func.func @conv_filter
// CHECK: %[[F:.*]] = hr.conv_filter channels_last {{.*}} -> tensor<3x3x2x5xf32>
// CHECK: hr.transpose %[[F]] [3, 2, 0, 1] : (tensor<3x3x2x5xf32>) -> tensor<5x2x3x3xf32>
func.func @conv_filter(%x: tensor<1x2x4x4xf32>, %y: tensor<1x5x4x4xf32>) -> tensor<5x2x3x3xf32> {
  %0 = hr.conv_filter channels_first %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<1x2x4x4xf32>, tensor<1x5x4x4xf32>) -> tensor<5x2x3x3xf32>
  return %0 : tensor<5x2x3x3xf32>
}
