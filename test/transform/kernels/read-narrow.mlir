// RUN: hr-opt --pass-pipeline='builtin.module(func.func(read-narrow))' %s | FileCheck %s
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,read-narrow,compare-answers))' %s -o /dev/null

// Functions widen what they read themselves, also where it is repeated; each other reader has a
// widening of its own.
// CHECK-LABEL: func.func @readers
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xbf16>, %[[B:.*]]: tensor<8xbf16>)
func.func @readers(%x: tensor<4x8xbf16>, %b: tensor<8xbf16>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) {
  %w = hr.map(%x) : (tensor<4x8xbf16>) -> tensor<4x8xf32> {
  ^bb0(%e: bf16):
    %r = arith.extf %e : bf16 to f32
    hr.yield %r : f32
  }
  %c = hr.map(%b) : (tensor<8xbf16>) -> tensor<8xf32> {
  ^bb0(%e: bf16):
    %r = arith.extf %e : bf16 to f32
    hr.yield %r : f32
  }
  // CHECK: %[[W:.*]] = hr.map(%[[X]])
  // CHECK: hr.map(%[[X]], %[[B]])
  // CHECK: arith.extf
  // CHECK: arith.extf
  // CHECK: arith.addf
  // CHECK: %[[V:.*]] = hr.map(%[[X]])
  %y = hr.map(%w, %c) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> {
  ^bb0(%e: f32, %f: f32):
    %r = arith.addf %e, %f : f32
    hr.yield %r : f32
  }
  // CHECK: hr.reduce sum %[[V]] axes
  // CHECK: hr.reduce max %[[W]] axes
  %s = hr.reduce sum %w axes [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %m = hr.reduce max %w axes [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  return %y, %s, %m : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
}
