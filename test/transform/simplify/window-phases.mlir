// RUN: hr-opt --simplify-algebra --mlir-print-local-scope --split-input-file %s | FileCheck %s

// The example of the file: results 1, 3 and 5 read tap 1, results 0, 2, 4 and 6 taps 0 and 2.
// CHECK-LABEL: func.func @example(
// CHECK-SAME: %[[X:.*]]: tensor<1x4x8xf32>, %[[W:.*]]: tensor<3x8x16xf32>)
// CHECK-NOT: hr.place
// CHECK-DAG: %[[P:.*]] = hr.pad %[[X]] {high = array<i64: 0, 1, 0>, low = array<i64: 0, 0, 0>, {{.*}}} : (tensor<1x4x8xf32>) -> tensor<1x5x8xf32>
// CHECK-DAG: %[[ONE:.*]] = hr.slice %[[W]] from affine_map<() -> (1, 0, 0)> steps [1, 1, 1] : (tensor<3x8x16xf32>) -> tensor<1x8x16xf32>
// CHECK-DAG: %[[TWO:.*]] = hr.slice %[[W]] from affine_map<() -> (0, 0, 0)> steps [2, 1, 1] : (tensor<3x8x16xf32>) -> tensor<2x8x16xf32>
// CHECK-DAG: hr.contract
// CHECK-DAG: hr.conv channels_last %[[P]], %[[TWO]] {{.*}} : (tensor<1x5x8xf32>, tensor<2x8x16xf32>) -> tensor<1x4x16xf32>
// CHECK: hr.concat {{.*}} {axis = 2 : i64} : (tensor<1x4x1x16xf32>, tensor<1x4x1x16xf32>) -> tensor<1x4x2x16xf32>
// CHECK: hr.slice {{.*}} : (tensor<1x8x16xf32>) -> tensor<1x7x16xf32>
func.func @example(%x: tensor<1x4x8xf32>, %w: tensor<3x8x16xf32>) -> tensor<1x7x16xf32> {
  %p = hr.place %x from affine_map<() -> (0, 0, 0)> steps [1, 2, 1] : (tensor<1x4x8xf32>) -> tensor<1x7x8xf32>
  %y = hr.conv channels_last %p, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x7x8xf32>, tensor<3x8x16xf32>) -> tensor<1x7x16xf32>
  return %y : tensor<1x7x16xf32>
}

// -----

// A window of twice the stride: all phases read the same elements, and are one convolution.
// CHECK-LABEL: func.func @one_convolution(
// CHECK: hr.conv channels_last {{.*}} : (tensor<1x5x5x8xf32>, tensor<2x2x8x64xf32>) -> tensor<1x6x6x64xf32>
// CHECK-NOT: hr.conv
// CHECK: hr.transpose {{.*}} [0, 1, 3, 2, 4, 5] : (tensor<1x6x6x2x2x16xf32>)
// CHECK: hr.slice {{.*}} from affine_map<() -> (0, 1, 1, 0)> {{.*}} : (tensor<1x12x12x16xf32>) -> tensor<1x10x10x16xf32>
func.func @one_convolution(%x: tensor<1x5x5x8xf32>, %w: tensor<4x4x8x16xf32>) -> tensor<1x10x10x16xf32> {
  %p = hr.place %x from affine_map<() -> (0, 2, 2, 0)> steps [1, 2, 2, 1] : (tensor<1x5x5x8xf32>) -> tensor<1x13x13x8xf32>
  %y = hr.conv channels_last %p, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64} : (tensor<1x13x13x8xf32>, tensor<4x4x8x16xf32>) -> tensor<1x10x10x16xf32>
  return %y : tensor<1x10x10x16xf32>
}

// -----

// All taps are in one phase, whose results are spread; the batch may be dynamic.
// CHECK-LABEL: func.func @one_phase(
// CHECK: %[[C:.*]] = hr.contract
// CHECK: hr.place %[[C]] from affine_map<() -> (0, 1, 0)> steps [1, 2, 1]
// CHECK-NOT: hr.conv
func.func @one_phase(%x: tensor<?x4x8xf32, affine_map<()[s0] -> (s0, 4, 8)>>, %w: tensor<1x8x16xf32>) -> tensor<?x9x16xf32, affine_map<()[s0] -> (s0, 9, 16)>> {
  %p = hr.place %x from affine_map<() -> (0, 1, 0)> steps [1, 2, 1] : (tensor<?x4x8xf32, affine_map<()[s0] -> (s0, 4, 8)>>) -> tensor<?x9x8xf32, affine_map<()[s0] -> (s0, 9, 8)>>
  %y = hr.conv channels_last %p, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0, 0>, groups = 1 : i64} : (tensor<?x9x8xf32, affine_map<()[s0] -> (s0, 9, 8)>>, tensor<1x8x16xf32>) -> tensor<?x9x16xf32, affine_map<()[s0] -> (s0, 9, 16)>>
  return %y : tensor<?x9x16xf32, affine_map<()[s0] -> (s0, 9, 16)>>
}

// -----

// Windows of each channel: a convolution for each phase.
// CHECK-LABEL: func.func @depthwise(
// CHECK-COUNT-2: hr.conv channels_last {{.*}} groups = 8 : i64
// CHECK-NOT: hr.conv
func.func @depthwise(%x: tensor<1x4x8xf32>, %w: tensor<4x1x8xf32>) -> tensor<1x8x8xf32> {
  %p = hr.place %x from affine_map<() -> (0, 2, 0)> steps [1, 2, 1] : (tensor<1x4x8xf32>) -> tensor<1x11x8xf32>
  %y = hr.conv channels_last %p, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0, 0>, groups = 8 : i64} : (tensor<1x11x8xf32>, tensor<4x1x8xf32>) -> tensor<1x8x8xf32>
  return %y : tensor<1x8x8xf32>
}
