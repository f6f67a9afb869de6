// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-split-windows))' --mlir-print-local-scope --split-input-file %s | FileCheck %s

// Before: a window of three taps, twelve elements apart, over fourteen elements: ten of the results
// read the image under one of them.
// After: the results that read it under the same taps, without padding.
// CHECK-LABEL: func.func @dilated(
// CHECK-SAME: %[[X:.*]]: tensor<1x256x14xf32>, %[[W:.*]]: tensor<256x256x3xf32>)
// CHECK-NEXT: %[[WA:.*]] = hr.slice %[[W]] from affine_map<() -> (0, 0, 1)> {{.*}} -> tensor<256x256x2xf32>
// CHECK-NEXT: %[[A:.*]] = hr.conv channels_first %[[X]], %[[WA]] {{.*}}pads = array<i64: 0, 0>{{.*}} -> tensor<1x256x2xf32>
// CHECK-NEXT: %[[XB:.*]] = hr.slice %[[X]] from affine_map<() -> (0, 0, 2)> {{.*}} -> tensor<1x256x10xf32>
// CHECK-NEXT: %[[WB:.*]] = hr.slice %[[W]] from affine_map<() -> (0, 0, 1)> {{.*}} -> tensor<256x256x1xf32>
// CHECK-NEXT: %[[B:.*]] = hr.conv channels_first %[[XB]], %[[WB]] {{.*}}pads = array<i64: 0, 0>{{.*}} -> tensor<1x256x10xf32>
// CHECK-NEXT: %[[WC:.*]] = hr.slice %[[W]] from affine_map<() -> (0, 0, 0)> {{.*}} -> tensor<256x256x2xf32>
// CHECK-NEXT: %[[C:.*]] = hr.conv channels_first %[[X]], %[[WC]] {{.*}}pads = array<i64: 0, 0>{{.*}} -> tensor<1x256x2xf32>
// CHECK-NEXT: hr.concat %[[A]], %[[B]], %[[C]] {axis = 2 : i64}
func.func @dilated(%x: tensor<1x256x14xf32>, %w: tensor<256x256x3xf32>) -> tensor<1x256x14xf32> {
  %0 = hr.conv channels_first %x, %w {dilations = array<i64: 12>, groups = 1 : i64, pads = array<i64: 12, 12>, strides = array<i64: 1>} : (tensor<1x256x14xf32>, tensor<256x256x3xf32>) -> tensor<1x256x14xf32>
  return %0 : tensor<1x256x14xf32>
}

// -----

// Of a window as usual, a few results read padding: not worth parts of their own. Nor is what has
// few products.
// CHECK-LABEL: func.func @left
// CHECK-NEXT: hr.conv
// CHECK-NEXT: hr.conv
// CHECK-NEXT: return
func.func @left(%x: tensor<1x256x14xf32>, %w: tensor<256x256x3xf32>, %y: tensor<1x4x14xf32>, %v: tensor<4x4x3xf32>)
    -> (tensor<1x256x14xf32>, tensor<1x4x14xf32>) {
  %0 = hr.conv channels_first %x, %w {dilations = array<i64: 1>, groups = 1 : i64, pads = array<i64: 1, 1>, strides = array<i64: 1>} : (tensor<1x256x14xf32>, tensor<256x256x3xf32>) -> tensor<1x256x14xf32>
  %1 = hr.conv channels_first %y, %v {dilations = array<i64: 12>, groups = 1 : i64, pads = array<i64: 12, 12>, strides = array<i64: 1>} : (tensor<1x4x14xf32>, tensor<4x4x3xf32>) -> tensor<1x4x14xf32>
  return %0, %1 : tensor<1x256x14xf32>, tensor<1x4x14xf32>
}
