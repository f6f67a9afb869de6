// RUN: hr-opt --pass-pipeline='builtin.module(cuda-split-results)' %s | FileCheck %s

// Three results, of which two are used: an operation for each of these.
// CHECK-LABEL: func.func @three
#v = affine_map<(i) -> (i)>
func.func @three(%x: tensor<5xf32>, %a: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  // CHECK: ins(%[[X:.*]], %[[A:.*]], %[[A]], %[[A]] :
  // CHECK-SAME: outs(%[[A]] : tensor<5xf32>)
  // CHECK: %[[M:.*]] = arith.maximumf
  // CHECK: linalg.yield %[[M]] : f32
  // CHECK: ins(%[[X]], %[[A]], %[[A]], %[[A]] :
  // CHECK: %[[D:.*]] = arith.subf
  // CHECK: linalg.yield %[[D]] : f32
  %r:3 = linalg.generic {indexing_maps = [#v, #v, #v, #v], iterator_types = ["parallel"]} ins(%x : tensor<5xf32>) outs(%a, %a, %a : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) {
  ^bb0(%in: f32, %o0: f32, %o1: f32, %o2: f32):
    %m = arith.maximumf %in, %o0 : f32
    %d = arith.subf %in, %m : f32
    linalg.yield %m, %in, %d : f32, f32, f32
  } -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>)
  return %r#0, %r#2 : tensor<5xf32>, tensor<5xf32>
}
