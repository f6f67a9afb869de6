// RUN: hr-opt --split-input-file --verify-diagnostics --differentiate --canonicalize %s | FileCheck %s

// Both operands of a product; the result's gradient is one more argument.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x3xf32> {hr.name = "x"}, %[[W:[^:]*]]: tensor<3x4xf32> {hr.name = "w"},
// CHECK-SAME: %[[DY:[^:]*]]: tensor<2x4xf32> {hr.name = "y.grad"})
// CHECK-SAME: {hr.name = "y"}{{.*}} {hr.name = "x.grad"}{{.*}} {hr.name = "w.grad"}
// CHECK-SAME: hr.gradient = array<i64: 2, 1>
// CHECK: %[[Y:.*]] = hr.contract %[[X]], %[[W]]
// CHECK: %[[DX:.*]] = hr.contract %[[DY]], %[[W]]
// CHECK: %[[DW:.*]] = hr.contract %[[X]], %[[DY]]
// CHECK: return %[[Y]], %[[DX]], %[[DW]]
func.func @main(%x: tensor<2x3xf32> {hr.name = "x"}, %w: tensor<3x4xf32> {hr.name = "w"})
    -> (tensor<2x4xf32> {hr.name = "y"}) {
  %y = hr.contract %x, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                affine_map<(m, n, k) -> (m, n)>]
      : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// The gradient of tanh is a function of its result; what is used twice sums both.
// CHECK-LABEL: func.func @uses
// CHECK: %[[T:.*]] = hr.map(%[[X:.*]]) : {{.*}} {
// CHECK: math.tanh
// CHECK: hr.map({{.*}}%[[T]], %{{.*}})
// CHECK-NOT: math.tanh
// CHECK: return
func.func @uses(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %t = hr.map(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: f32):
    %r = math.tanh %a : f32
    hr.yield %r : f32
  }
  return %t, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

// Integers have no gradient, and inputs that nothing depends on have zeros.
// CHECK-LABEL: func.func @integers
// CHECK-SAME: -> (tensor<3xf32>, tensor<5x3xf32>, tensor<2xf32>)
// CHECK: hr.scatter {{.*}} by sum
func.func @integers(%data: tensor<5x3xf32>, %i: tensor<i64>, %unused: tensor<2xf32>) -> tensor<3xf32> {
  %y = hr.gather %data, %i {axis = 0 : i64} : (tensor<5x3xf32>, tensor<i64>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

func.func @none(%i: tensor<1x1x1x1xi32>, %d: tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32> {
  // expected-error @+1 {{hr.unpool has no gradient}}
  %0 = hr.unpool channels_first %d at %i {window = array<i64: 2, 2>, strides = array<i64: 2, 2>,
      dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
      : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xi32>) -> tensor<1x1x2x2xf32>
  return %0 : tensor<1x1x2x2xf32>
}
