// RUN: hr-opt --separate-padding %s | FileCheck %s
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,separate-padding,compare-answers))' %s -o /dev/null

// CHECK-LABEL: func.func @conv_first
// CHECK: %[[P:.*]] = hr.pad %{{.*}} {high = array<i64: 0, 0, 0, 2>, low = array<i64: 0, 0, 1, 0>, value = 0.000000e+00 : f32} : (tensor<1x3x8x8xf32>) -> tensor<1x3x9x10xf32>
// CHECK: hr.conv channels_first %[[P]], %{{.*}} pads = array<i64: 0, 0, 0, 0>
func.func @conv_first(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x7x8xf32> {
  %0 = hr.conv channels_first %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 0, 0, 2>, groups = 1 : i64}
      : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x8xf32>
  return %0 : tensor<1x4x7x8xf32>
}

// Nothing to separate.
// CHECK-LABEL: func.func @unpadded
// CHECK-NOT: hr.pad
// CHECK: return
func.func @unpadded(%x: tensor<1x8x8x3xf32>, %w: tensor<3x3x3x4xf32>) -> tensor<1x6x6x4xf32> {
  %0 = hr.conv channels_last %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x6x6x4xf32>
  return %0 : tensor<1x6x6x4xf32>
}

// Padding never wins a maximum.
// CHECK-LABEL: func.func @max
// CHECK: hr.pad %{{.*}} {high = array<i64: 0, 1, 1, 0>, low = array<i64: 0, 1, 1, 0>, value = 0xFF800000 : f32}
// CHECK: hr.pool max channels_last %{{.*}} pads = array<i64: 0, 0, 0, 0>
func.func @max(%x: tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32> {
  %0 = hr.pool max channels_last %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
      : (tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32>
  return %0 : tensor<1x4x4x3xf32>
}

// CHECK-LABEL: func.func @max_integer
// CHECK: hr.pad %{{.*}} value = -128 : i8}
func.func @max_integer(%x: tensor<1x8x8x3xi8>) -> tensor<1x4x4x3xi8> {
  %0 = hr.pool max channels_last %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
      : (tensor<1x8x8x3xi8>) -> tensor<1x4x4x3xi8>
  return %0 : tensor<1x4x4x3xi8>
}

// Every window counts in full: one factor.
// CHECK-LABEL: func.func @average
// CHECK-NOT: hr.pad
// CHECK: %[[S:.*]] = hr.pool sum channels_first
// CHECK: hr.map(%[[S]])
// CHECK: arith.constant 2.500000e-01 : f32
// CHECK: arith.mulf
func.func @average(%x: tensor<?x3x8x8xf32, affine_map<()[s0] -> (s0, 3, 8, 8)>>) -> tensor<?x3x4x4xf32, affine_map<()[s0] -> (s0, 3, 4, 4)>> {
  %0 = hr.pool average channels_first %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
      : (tensor<?x3x8x8xf32, affine_map<()[s0] -> (s0, 3, 8, 8)>>) -> tensor<?x3x4x4xf32, affine_map<()[s0] -> (s0, 3, 4, 4)>>
  return %0 : tensor<?x3x4x4xf32, affine_map<()[s0] -> (s0, 3, 4, 4)>>
}

// Padding counts: still one factor.
// CHECK-LABEL: func.func @average_include_pad
// CHECK: hr.pad
// CHECK: hr.pool sum
// CHECK: arith.constant 5.000000e-01 : f32
func.func @average_include_pad(%x: tensor<1x4x2xf32>) -> tensor<1x5x2xf32> {
  %0 = hr.pool average channels_last %x {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 1, 1>, include_pad = true}
      : (tensor<1x4x2xf32>) -> tensor<1x5x2xf32>
  return %0 : tensor<1x5x2xf32>
}

// Padding does not count: windows at the border hold 1, 2 or 4 elements.
// CHECK-LABEL: func.func @average_counted
// CHECK-DAG: %[[C:.*]] = hr.constant dense<{{\[}}{{\[}}[1.000000e+00], [5.000000e-01], [1.000000e+00]], {{\[}}[5.000000e-01], [2.500000e-01], [5.000000e-01]], {{\[}}[1.000000e+00], [5.000000e-01], [1.000000e+00]]]> : tensor<3x3x1xf32>
// CHECK-DAG: %[[S:.*]] = hr.pool sum
// CHECK: hr.map(%[[S]], %[[C]])
// CHECK: arith.mulf
func.func @average_counted(%x: tensor<1x2x2x5xf32>) -> tensor<1x3x3x5xf32> {
  %0 = hr.pool average channels_last %x {window = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
      : (tensor<1x2x2x5xf32>) -> tensor<1x3x3x5xf32>
  return %0 : tensor<1x3x3x5xf32>
}

// An image of unknown size is counted while the program runs: the window over ones.
// CHECK-LABEL: func.func @average_unknown_size
// CHECK: %[[ONE:.*]] = hr.constant dense<1.000000e+00> : tensor<1x1x1xf32>
// CHECK: %[[S:.*]] = hr.pool sum
// CHECK: hr.broadcast %[[ONE]]
// CHECK: %[[N:.*]] = hr.pool sum
// CHECK: hr.map(%[[S]], %[[N]])
// CHECK: arith.divf
// CHECK-NOT: hr.pool average
// CHECK: return
func.func @average_unknown_size(%x: tensor<1x?x2xf32, affine_map<()[s0] -> (1, s0, 2)>>) -> tensor<1x?x2xf32, affine_map<()[s0] -> (1, s0 + 1, 2)>> {
  %0 = hr.pool average channels_last %x {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 1, 1>}
      : (tensor<1x?x2xf32, affine_map<()[s0] -> (1, s0, 2)>>) -> tensor<1x?x2xf32, affine_map<()[s0] -> (1, s0 + 1, 2)>>
  return %0 : tensor<1x?x2xf32, affine_map<()[s0] -> (1, s0 + 1, 2)>>
}

// Dilated and strided, channels first: window positions -2 0, 1 3, 4 6 of a row of 5.
// CHECK-LABEL: func.func @average_dilated
// CHECK-DAG: hr.constant dense<[1.000000e+00, 5.000000e-01, 1.000000e+00]> : tensor<3xf32>
func.func @average_dilated(%x: tensor<1x2x5xf32>) -> tensor<1x2x3xf32> {
  %0 = hr.pool average channels_first %x {window = array<i64: 2>, strides = array<i64: 3>, dilations = array<i64: 2>, pads = array<i64: 2, 2>}
      : (tensor<1x2x5xf32>) -> tensor<1x2x3xf32>
  return %0 : tensor<1x2x3xf32>
}

// Windows side by side: a map of what each holds, over windows and positions in them; the row that
// no window covers gets zeros.
// CHECK-LABEL: func.func @unpool_side_by_side
// CHECK-NOT: hr.unpool
// CHECK: %[[M:.*]] = hr.map({{.*}}) : (tensor<1x2x1x2x1x3xf32>, tensor<1x2x1x2x1x3xi32>, tensor<1x2x1x2x1xi32>) -> tensor<1x2x2x2x2x3xf32>
// CHECK: %[[R:.*]] = hr.reshape %[[M]] : {{.*}} -> tensor<1x4x4x3xf32>
// CHECK: hr.place %[[R]]
func.func @unpool_side_by_side(%d: tensor<1x2x2x3xf32>, %i: tensor<1x2x2x3xi32>) -> tensor<1x5x4x3xf32> {
  %0 = hr.unpool channels_last %d at %i {window = array<i64: 2, 2>, strides = array<i64: 2, 2>,
      dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
      : (tensor<1x2x2x3xf32>, tensor<1x2x2x3xi32>) -> tensor<1x5x4x3xf32>
  return %0 : tensor<1x5x4x3xf32>
}

// CHECK-LABEL: func.func @conv_filter
// CHECK: %[[P:.*]] = hr.pad
// CHECK: hr.conv_filter channels_last %[[P]], {{.*}}pads = array<i64: 0, 0, 0, 0>
func.func @conv_filter(%x: tensor<1x4x4x2xf32>, %y: tensor<1x4x4x3xf32>) -> tensor<3x3x2x3xf32> {
  %0 = hr.conv_filter channels_last %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
      pads = array<i64: 1, 1, 1, 1>, groups = 1 : i64}
      : (tensor<1x4x4x2xf32>, tensor<1x4x4x3xf32>) -> tensor<3x3x2x3xf32>
  return %0 : tensor<3x3x2x3xf32>
}
