// RUN: hr-opt --merge-maps %s | FileCheck %s
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,merge-maps,compare-answers))' %s -o /dev/null

// CHECK-LABEL: func.func @chain
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK: %[[Y:.*]] = hr.map(%[[X]]) : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK: math.exp
// CHECK: math.tanh
// CHECK: arith.mulf
// CHECK: return %[[Y]]
func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = hr.map(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%v: f32):
    %r = math.exp %v : f32
    hr.yield %r : f32
  }
  %b = hr.map(%a) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%v: f32):
    %r = math.tanh %v : f32
    hr.yield %r : f32
  }
  %c = hr.map(%x, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%v: f32, %w: f32):
    %r = arith.mulf %v, %w : f32
    hr.yield %r : f32
  }
  return %c : tensor<4xf32>
}

// A row that is repeated, and a value that others use, stay: nothing is computed twice.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-3: hr.map
func.func @stays(%x: tensor<4xf32>, %y: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %a = hr.map(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%v: f32):
    %r = math.exp %v : f32
    hr.yield %r : f32
  }
  %b = hr.map(%a, %y) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%v: f32, %w: f32):
    %r = arith.mulf %v, %w : f32
    hr.yield %r : f32
  }
  %c = hr.map(%b) : (tensor<2x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%v: f32):
    %r = math.tanh %v : f32
    hr.yield %r : f32
  }
  return %b, %c : tensor<2x4xf32>, tensor<2x4xf32>
}
