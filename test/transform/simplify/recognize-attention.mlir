// RUN: hr-opt %s --pass-pipeline='builtin.module(func.func(recognize-attention))' | FileCheck %s
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,recognize-attention,compare-answers))' %s -o /dev/null

#q = affine_map<(b, i, j, d) -> (b, i, d)>
#k = affine_map<(b, i, j, d) -> (b, j, d)>
#s = affine_map<(b, i, j, d) -> (b, i, j)>
#w = affine_map<(b, i, e, j) -> (b, i, j)>
#v = affine_map<(b, i, e, j) -> (b, j, e)>
#y = affine_map<(b, i, e, j) -> (b, i, e)>

// A division by a constant is a scale, a sum after it a bias.
// CHECK-LABEL: func @scaled_and_biased
// CHECK: %[[Y:.*]] = hr.attention %arg0, %arg1, %arg2, %arg3 {scale = 1.250000e-01 : f64}
// CHECK: return %[[Y]]
func.func @scaled_and_biased(%q: tensor<2x9x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x5xf32>,
                             %bias: tensor<9x7xf32>) -> tensor<2x9x5xf32> {
  %c = hr.constant dense<8.0> : tensor<f32>
  %0 = hr.contract %q, %k maps [#q, #k, #s] : (tensor<2x9x4xf32>, tensor<2x7x4xf32>) -> tensor<2x9x7xf32>
  %1 = hr.map(%0, %c) : (tensor<2x9x7xf32>, tensor<f32>) -> tensor<2x9x7xf32> {
  ^bb0(%a: f32, %b: f32):
    %r = arith.divf %a, %b : f32
    hr.yield %r : f32
  }
  %2 = hr.map(%bias, %1) : (tensor<9x7xf32>, tensor<2x9x7xf32>) -> tensor<2x9x7xf32> {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    hr.yield %r : f32
  }
  %3 = hr.softmax %2 {axis = 2} : (tensor<2x9x7xf32>) -> tensor<2x9x7xf32>
  %4 = hr.contract %3, %v maps [#w, #v, #y] : (tensor<2x9x7xf32>, tensor<2x7x5xf32>) -> tensor<2x9x5xf32>
  return %4 : tensor<2x9x5xf32>
}

// A scale of what is biased is one of the bias, too.
// CHECK-LABEL: func @biased_before_it_is_scaled
// CHECK-NOT: hr.attention
// CHECK: return
func.func @biased_before_it_is_scaled(%q: tensor<2x9x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x5xf32>,
                                      %bias: tensor<9x7xf32>) -> tensor<2x9x5xf32> {
  %0 = hr.contract %q, %k maps [#q, #k, #s] : (tensor<2x9x4xf32>, tensor<2x7x4xf32>) -> tensor<2x9x7xf32>
  %1 = hr.map(%bias, %0) : (tensor<9x7xf32>, tensor<2x9x7xf32>) -> tensor<2x9x7xf32> {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    hr.yield %r : f32
  }
  %2 = hr.map(%1) : (tensor<2x9x7xf32>) -> tensor<2x9x7xf32> {
  ^bb0(%a: f32):
    %c = arith.constant 0.125 : f32
    %r = arith.mulf %a, %c : f32
    hr.yield %r : f32
  }
  %3 = hr.softmax %2 {axis = 2} : (tensor<2x9x7xf32>) -> tensor<2x9x7xf32>
  %4 = hr.contract %3, %v maps [#w, #v, #y] : (tensor<2x9x7xf32>, tensor<2x7x5xf32>) -> tensor<2x9x5xf32>
  return %4 : tensor<2x9x5xf32>
}

// Weights that are shown have to be made.
// CHECK-LABEL: func @weights_with_another_use
// CHECK-NOT: hr.attention
// CHECK: return
func.func @weights_with_another_use(%q: tensor<2x9x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x5xf32>)
    -> (tensor<2x9x5xf32>, tensor<2x9x7xf32>) {
  %0 = hr.contract %q, %k maps [#q, #k, #s] : (tensor<2x9x4xf32>, tensor<2x7x4xf32>) -> tensor<2x9x7xf32>
  %1 = hr.softmax %0 {axis = 2} : (tensor<2x9x7xf32>) -> tensor<2x9x7xf32>
  %2 = hr.contract %1, %v maps [#w, #v, #y] : (tensor<2x9x7xf32>, tensor<2x7x5xf32>) -> tensor<2x9x5xf32>
  return %2, %1 : tensor<2x9x5xf32>, tensor<2x9x7xf32>
}

// Softmax over queries is something else.
// CHECK-LABEL: func @softmax_over_queries
// CHECK-NOT: hr.attention
// CHECK: return
func.func @softmax_over_queries(%q: tensor<2x9x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x5xf32>) -> tensor<2x9x5xf32> {
  %0 = hr.contract %q, %k maps [#q, #k, #s] : (tensor<2x9x4xf32>, tensor<2x7x4xf32>) -> tensor<2x9x7xf32>
  %1 = hr.softmax %0 {axis = 1} : (tensor<2x9x7xf32>) -> tensor<2x9x7xf32>
  %2 = hr.contract %1, %v maps [#w, #v, #y] : (tensor<2x9x7xf32>, tensor<2x7x5xf32>) -> tensor<2x9x5xf32>
  return %2 : tensor<2x9x5xf32>
}

// Keys that all of a batch share are no matrices of their own.
#shared = affine_map<(b, i, j, d) -> (j, d)>
// CHECK-LABEL: func @shared_keys
// CHECK-NOT: hr.attention
// CHECK: return
func.func @shared_keys(%q: tensor<2x9x4xf32>, %k: tensor<7x4xf32>, %v: tensor<2x7x5xf32>) -> tensor<2x9x5xf32> {
  %0 = hr.contract %q, %k maps [#q, #shared, #s] : (tensor<2x9x4xf32>, tensor<7x4xf32>) -> tensor<2x9x7xf32>
  %1 = hr.softmax %0 {axis = 2} : (tensor<2x9x7xf32>) -> tensor<2x9x7xf32>
  %2 = hr.contract %1, %v maps [#w, #v, #y] : (tensor<2x9x7xf32>, tensor<2x7x5xf32>) -> tensor<2x9x5xf32>
  return %2 : tensor<2x9x5xf32>
}
