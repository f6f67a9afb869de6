// RUN: hr-opt --simplify-algebra --mlir-print-local-scope --split-input-file %s | FileCheck %s
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,simplify-algebra,compare-answers))' %s -o /dev/null

// The example of the pass.
// CHECK-LABEL: func.func @example(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>)
// CHECK-NEXT: %[[Y:.*]] = hr.map(%[[X]]) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32):
// CHECK-NEXT: %[[C:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT: arith.mulf %[[A]], %[[C]]
// CHECK: return %[[Y]]
func.func @example(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %t = hr.transpose %x [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %u = hr.transpose %t [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %c = hr.constant dense<2.0> : tensor<1xf32>
  %y = hr.map(%u, %c) : (tensor<4x8xf32>, tensor<1xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %b : f32
    hr.yield %m : f32
  }
  return %y : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @transposes
// CHECK-NEXT: hr.transpose %{{.*}} [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
// CHECK-NEXT: return
func.func @transposes(%x: tensor<2x3x4xf32>) -> tensor<3x4x2xf32> {
  %0 = hr.transpose %x [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = hr.transpose %0 [2, 0, 1] : (tensor<4x2x3xf32>) -> tensor<3x4x2xf32>
  return %1 : tensor<3x4x2xf32>
}

// -----

// CHECK-LABEL: func.func @unit_transpose
// CHECK-NEXT: hr.reshape %{{.*}} : (tensor<?x4x1x1xf32, affine_map<()[s0] -> (s0, 4, 1, 1)>>) -> tensor<?x1x1x4xf32, affine_map<()[s0] -> (s0, 1, 1, 4)>>
func.func @unit_transpose(%x: tensor<?x4x1x1xf32, affine_map<()[s0] -> (s0, 4, 1, 1)>>)
    -> tensor<?x1x1x4xf32, affine_map<()[s0] -> (s0, 1, 1, 4)>> {
  %0 = hr.transpose %x [0, 2, 3, 1] : (tensor<?x4x1x1xf32, affine_map<()[s0] -> (s0, 4, 1, 1)>>) -> tensor<?x1x1x4xf32, affine_map<()[s0] -> (s0, 1, 1, 4)>>
  return %0 : tensor<?x1x1x4xf32, affine_map<()[s0] -> (s0, 1, 1, 4)>>
}

// -----

// A symbolic size may be larger than 1.
// CHECK-LABEL: func.func @symbolic_transpose
// CHECK-NEXT: hr.transpose
func.func @symbolic_transpose(%x: tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>> {
  %0 = hr.transpose %x [1, 0] : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>) -> tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
  return %0 : tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>
}

// -----

// CHECK-LABEL: func.func @nothing_moves(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: return %[[X]]
func.func @nothing_moves(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = hr.transpose %x [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = hr.reshape %0 : (tensor<2x3xf32>) -> tensor<6xf32>
  %2 = hr.reshape %1 : (tensor<6xf32>) -> tensor<2x3xf32>
  %3 = hr.broadcast %2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = hr.slice %3 from affine_map<() -> (0, 0)> steps [1, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = hr.pad %4 {low = array<i64: 0, 0>, high = array<i64: 0, 0>, value = 0.0 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = hr.concat %5 {axis = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %6 : tensor<2x3xf32>
}

// -----

// A reversal has the input's type, and moves.
// CHECK-LABEL: func.func @reversal
// CHECK-NEXT: hr.slice
func.func @reversal(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = hr.slice %x from affine_map<() -> (2)> steps [-1] : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @reshaped_constant
// CHECK-NEXT: hr.constant dense<{{\[}}[1.000000e+00, 2.000000e+00]]> : tensor<1x2xf32>
// CHECK-NEXT: return
func.func @reshaped_constant() -> tensor<1x2xf32> {
  %c = hr.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = hr.reshape %c : (tensor<2xf32>) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}

// -----

// The broadcast and the repeated operand go; the constant that alone makes the result 4 high stays.
// CHECK-LABEL: func.func @operands(
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>)
// CHECK: %[[C:.*]] = hr.constant dense<3.000000e+00> : tensor<4x1xf32>
// CHECK: hr.map(%[[X]], %[[C]]) : (tensor<8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
func.func @operands(%x: tensor<8xf32>) -> tensor<4x8xf32> {
  %c = hr.constant dense<3.0> : tensor<4x1xf32>
  %b = hr.broadcast %x : (tensor<8xf32>) -> tensor<4x8xf32>
  %0 = hr.map(%b, %x, %c) : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32> {
  ^bb0(%p: f32, %q: f32, %r: f32):
    %s = arith.addf %p, %q : f32
    %t = arith.mulf %s, %r : f32
    hr.yield %t : f32
  }
  return %0 : tensor<4x8xf32>
}

// -----

// An operand the body does not use is dropped, unless the result has its size from it.
// CHECK-LABEL: func.func @unused(
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[Z:.*]]: tensor<4x1xf32>)
// CHECK: hr.map(%[[X]]) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK: hr.map(%[[X]], %[[Z]]) : (tensor<8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
func.func @unused(%x: tensor<8xf32>, %z: tensor<4x1xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  %c = hr.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %0 = hr.map(%x, %c) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%p: f32, %q: f32):
    %s = math.exp %p : f32
    hr.yield %s : f32
  }
  %1 = hr.map(%x, %z) : (tensor<8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32> {
  ^bb0(%p: f32, %q: f32):
    %s = math.exp %p : f32
    hr.yield %s : f32
  }
  return %0, %1 : tensor<8xf32>, tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @forwarded(
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[Z:.*]]: tensor<4x1xf32>)
// CHECK-NEXT: %[[B:.*]] = hr.broadcast %[[X]] : (tensor<8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: return %[[X]], %[[B]]
func.func @forwarded(%x: tensor<8xf32>, %z: tensor<4x1xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  %0 = hr.map(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%p: f32):
    hr.yield %p : f32
  }
  %1 = hr.map(%x, %z) : (tensor<8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32> {
  ^bb0(%p: f32, %q: f32):
    hr.yield %p : f32
  }
  return %0, %1 : tensor<8xf32>, tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @pointwise
// CHECK: %[[W:.*]] = hr.reshape %{{.*}} : (tensor<1x1x3x5xf32>) -> tensor<3x5xf32>
// CHECK: hr.contract %{{.*}}, %[[W]] maps [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>]
// CHECK-SAME: -> tensor<?x8x8x5xf32, affine_map<()[s0] -> (s0, 8, 8, 5)>>
func.func @pointwise(%x: tensor<?x8x8x3xf32, affine_map<()[s0] -> (s0, 8, 8, 3)>>, %w: tensor<1x1x3x5xf32>)
    -> tensor<?x8x8x5xf32, affine_map<()[s0] -> (s0, 8, 8, 5)>> {
  %0 = hr.conv channels_last %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<?x8x8x3xf32, affine_map<()[s0] -> (s0, 8, 8, 3)>>, tensor<1x1x3x5xf32>) -> tensor<?x8x8x5xf32, affine_map<()[s0] -> (s0, 8, 8, 5)>>
  return %0 : tensor<?x8x8x5xf32, affine_map<()[s0] -> (s0, 8, 8, 5)>>
}

// -----

// Strides and groups make it more than a product.
// CHECK-LABEL: func.func @not_pointwise
// CHECK: hr.conv
// CHECK: hr.conv
func.func @not_pointwise(%x: tensor<1x8x8x4xf32>, %w: tensor<1x1x4x4xf32>, %v: tensor<1x1x2x4xf32>) -> tensor<1x4x4x4xf32> {
  %0 = hr.conv channels_last %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x8x8x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x4x4x4xf32>
  %1 = hr.conv channels_last %0, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 2 : i64}
      : (tensor<1x4x4x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x4x4x4xf32>
  return %1 : tensor<1x4x4x4xf32>
}

// -----

// (m, n, k): the operands and the result are read and written as they lie.
// CHECK-LABEL: func.func @contract(
// CHECK-SAME: %[[A:.*]]: tensor<5x2x3xf32>, %[[B:.*]]: tensor<4x3xf32>)
// CHECK-NEXT: %[[C:.*]] = hr.contract %[[A]], %[[B]] maps [affine_map<(d0, d1, d2, d3) -> (d3, d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d2, d1)>, affine_map<(d0, d1, d2, d3) -> (d2, d3, d0)>] : (tensor<5x2x3xf32>, tensor<4x3xf32>) -> tensor<4x5x2xf32>
// CHECK-NEXT: return %[[C]]
func.func @contract(%a: tensor<5x2x3xf32>, %b: tensor<4x3xf32>) -> tensor<4x5x2xf32> {
  %at = hr.transpose %a [1, 2, 0] : (tensor<5x2x3xf32>) -> tensor<2x3x5xf32>
  %bt = hr.transpose %b [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %c = hr.contract %at, %bt maps [affine_map<(m, k, n, b) -> (m, k, b)>, affine_map<(m, k, n, b) -> (k, n)>, affine_map<(m, k, n, b) -> (m, n, b)>]
      : (tensor<2x3x5xf32>, tensor<3x4xf32>) -> tensor<2x4x5xf32>
  %ct = hr.transpose %c [1, 2, 0] : (tensor<2x4x5xf32>) -> tensor<4x5x2xf32>
  return %ct : tensor<4x5x2xf32>
}

// -----

// What is repeated along a dimension of the other operand is read once; along one of its own it is repeated still.
// CHECK-LABEL: func.func @contract_broadcast(
// CHECK-SAME: %[[A:.*]]: tensor<4x1x3xf32>, %[[B:.*]]: tensor<2x4x3xf32>, %[[C:.*]]: tensor<3xf32>)
// CHECK-DAG: %[[R:.*]] = hr.reshape %[[A]] : (tensor<4x1x3xf32>) -> tensor<4x3xf32>
// CHECK-DAG: hr.contract %[[R]], %{{.*}} maps [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>] : (tensor<4x3xf32>, tensor<2x4x3xf32>) -> tensor<4x2x4xf32>
// CHECK-DAG: %[[OWN:.*]] = hr.broadcast %[[C]] : (tensor<3xf32>) -> tensor<5x3xf32>
// CHECK-DAG: hr.contract %[[OWN]], %[[B]] maps [affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>] : (tensor<5x3xf32>, tensor<2x4x3xf32>) -> tensor<2x5x4xf32>
func.func @contract_broadcast(%a: tensor<4x1x3xf32>, %b: tensor<2x4x3xf32>, %c: tensor<3xf32>) -> (tensor<4x2x4xf32>, tensor<2x5x4xf32>) {
  %r = hr.broadcast %a : (tensor<4x1x3xf32>) -> tensor<4x2x3xf32>
  %x = hr.contract %r, %b maps [affine_map<(m, p, n, k) -> (m, p, k)>, affine_map<(m, p, n, k) -> (p, n, k)>, affine_map<(m, p, n, k) -> (m, p, n)>]
      : (tensor<4x2x3xf32>, tensor<2x4x3xf32>) -> tensor<4x2x4xf32>
  %s = hr.broadcast %c : (tensor<3xf32>) -> tensor<2x5x3xf32>
  %y = hr.contract %s, %b maps [affine_map<(p, m, n, k) -> (p, m, k)>, affine_map<(p, m, n, k) -> (p, n, k)>, affine_map<(p, m, n, k) -> (p, m, n)>]
      : (tensor<2x5x3xf32>, tensor<2x4x3xf32>) -> tensor<2x5x4xf32>
  return %x, %y : tensor<4x2x4xf32>, tensor<2x5x4xf32>
}

// -----

// The product has another user, which reads it as it is.
// CHECK-LABEL: func.func @contract_two_users
// CHECK: hr.contract
// CHECK: hr.transpose
func.func @contract_two_users(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>) {
  %c = hr.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %ct = hr.transpose %c [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return %c, %ct : tensor<2x4xf32>, tensor<4x2xf32>
}

// Maps on both sides of a reshape meet before it; operands of the second are split as it is.
// CHECK-LABEL: func.func @map_before_reshape
// CHECK: %[[A:.*]] = hr.map(%{{.*}}) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK: %[[Y:.*]] = hr.reshape %{{.*}} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
// CHECK: %[[M:.*]] = hr.map(%[[A]], %[[Y]], %{{.*}}) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
// CHECK: hr.reshape %[[M]] : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
func.func @map_before_reshape(%x: tensor<2x3x4xf32>, %y: tensor<6x4xf32>, %b: tensor<4xf32>) -> tensor<6x4xf32> {
  %a = hr.map(%x) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  ^bb0(%v: f32):
    %r = math.exp %v : f32
    hr.yield %r : f32
  }
  %s = hr.reshape %a : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %m = hr.map(%s, %y, %b) : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32> {
  ^bb0(%v: f32, %w: f32, %c: f32):
    %p = arith.mulf %v, %w : f32
    %r = arith.addf %p, %c : f32
    hr.yield %r : f32
  }
  return %m : tensor<6x4xf32>
}

// -----

// What is picked in another shape than it is joined in is picked in that shape.
// CHECK-LABEL: func.func @gather_in_shape_of_join
// CHECK: %[[N:.*]] = hr.reshape %arg1 : (tensor<512xi64>) -> tensor<512x1xi64>
// CHECK: %[[G:.*]] = hr.gather %arg0, %[[N]] {axis = 0 : i64} : (tensor<100x64xf32>, tensor<512x1xi64>) -> tensor<512x1x64xf32>
// CHECK: hr.concat %arg2, %[[G]] {axis = 1 : i64}
func.func @gather_in_shape_of_join(%t: tensor<100x64xf32>, %i: tensor<512xi64>, %x: tensor<512x3x64xf32>) -> tensor<512x4x64xf32> {
  %g = hr.gather %t, %i {axis = 0 : i64} : (tensor<100x64xf32>, tensor<512xi64>) -> tensor<512x64xf32>
  %r = hr.reshape %g : (tensor<512x64xf32>) -> tensor<512x1x64xf32>
  %y = hr.concat %x, %r {axis = 1 : i64} : (tensor<512x3x64xf32>, tensor<512x1x64xf32>) -> tensor<512x4x64xf32>
  return %y : tensor<512x4x64xf32>
}

// -----

// A reshape across what is picked stays where it is.
// CHECK-LABEL: func.func @gather_across_shape_of_join
// CHECK: %[[G:.*]] = hr.gather %arg0, %arg1 {axis = 0 : i64} : (tensor<100x64xf32>, tensor<8xi64>) -> tensor<8x64xf32>
// CHECK: hr.reshape %[[G]]
func.func @gather_across_shape_of_join(%t: tensor<100x64xf32>, %i: tensor<8xi64>, %x: tensor<16x3xf32>) -> tensor<16x35xf32> {
  %g = hr.gather %t, %i {axis = 0 : i64} : (tensor<100x64xf32>, tensor<8xi64>) -> tensor<8x64xf32>
  %r = hr.reshape %g : (tensor<8x64xf32>) -> tensor<16x32xf32>
  %y = hr.concat %x, %r {axis = 1 : i64} : (tensor<16x3xf32>, tensor<16x32xf32>) -> tensor<16x35xf32>
  return %y : tensor<16x35xf32>
}

// -----

// Of taps further apart than the image is large, only the centre ever reads it.
// CHECK-LABEL: func.func @taps_in_padding(
// CHECK-SAME: %[[X:.*]]: tensor<1x3x14x14xf32>, %[[W:.*]]: tensor<8x3x3x3xf32>)
// CHECK-NEXT: %[[CENTRE:.*]] = hr.slice %[[W]] from affine_map<() -> (0, 0, 1, 1)> steps [1, 1, 1, 1] : (tensor<8x3x3x3xf32>) -> tensor<8x3x1x1xf32>
// CHECK-NEXT: hr.conv channels_first %[[X]], %[[CENTRE]] {dilations = array<i64: 24, 24>, groups = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}
// CHECK-NEXT: return
func.func @taps_in_padding(%x: tensor<1x3x14x14xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<1x8x14x14xf32> {
  %0 = hr.conv channels_first %x, %w {dilations = array<i64: 24, 24>, groups = 1 : i64, pads = array<i64: 24, 24, 24, 24>, strides = array<i64: 1, 1>} : (tensor<1x3x14x14xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x14x14xf32>
  return %0 : tensor<1x8x14x14xf32>
}

// -----

// A tap that reads the image anywhere stays, and with it those between: along the second dimension
// the first one reads its last two columns.
// CHECK-LABEL: func.func @some_taps_read
// CHECK-NEXT: hr.slice %{{.*}} from affine_map<() -> (1, 0, 0, 0)>
// CHECK-NEXT: hr.conv channels_last %{{.*}} pads = array<i64: 0, 12, 0, 12>
func.func @some_taps_read(%x: tensor<1x14x14x3xf32>, %w: tensor<3x3x3x8xf32>) -> tensor<1x14x14x8xf32> {
  %0 = hr.conv channels_last %x, %w {dilations = array<i64: 14, 12>, groups = 1 : i64, pads = array<i64: 14, 12, 14, 12>, strides = array<i64: 1, 1>} : (tensor<1x14x14x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x14x14x8xf32>
  return %0 : tensor<1x14x14x8xf32>
}

// -----

// What no tap reads any more is cut off the image.
// CHECK-LABEL: func.func @image_beyond_the_taps
// CHECK-DAG: hr.slice %{{.*}} from affine_map<() -> (0, 0, 0)> steps [1, 1, 1] : (tensor<1x1x10xf32>) -> tensor<1x1x1xf32>
// CHECK-DAG: hr.slice %{{.*}} from affine_map<() -> (0, 0, 0)> steps [1, 1, 1] : (tensor<1x1x2xf32>) -> tensor<1x1x1xf32>
// CHECK: hr.conv channels_first %{{.*}} pads = array<i64: 0, 0>
func.func @image_beyond_the_taps(%x: tensor<1x1x10xf32>, %w: tensor<1x1x2xf32>) -> tensor<1x1x1xf32> {
  %0 = hr.conv channels_first %x, %w {dilations = array<i64: 10>, groups = 1 : i64, pads = array<i64: 0, 1>, strides = array<i64: 1>} : (tensor<1x1x10xf32>, tensor<1x1x2xf32>) -> tensor<1x1x1xf32>
  return %0 : tensor<1x1x1xf32>
}

// -----

// Padding never wins a maximum, but counts in an average that includes it.
// CHECK-LABEL: func.func @pools_in_padding
// CHECK-NEXT: hr.pool max channels_first %{{.*}} pads = array<i64: 0, 0>, strides = array<i64: 1>, window = array<i64: 1>
// CHECK-NEXT: hr.pool average channels_first %{{.*}} window = array<i64: 3>
func.func @pools_in_padding(%x: tensor<1x1x4xf32>) -> (tensor<1x1x4xf32>, tensor<1x1x4xf32>) {
  %0 = hr.pool max channels_first %x {dilations = array<i64: 5>, pads = array<i64: 5, 5>, strides = array<i64: 1>, window = array<i64: 3>} : (tensor<1x1x4xf32>) -> tensor<1x1x4xf32>
  %1 = hr.pool average channels_first %x {dilations = array<i64: 5>, include_pad = true, pads = array<i64: 5, 5>, strides = array<i64: 1>, window = array<i64: 3>} : (tensor<1x1x4xf32>) -> tensor<1x1x4xf32>
  return %0, %1 : tensor<1x1x4xf32>, tensor<1x1x4xf32>
}
