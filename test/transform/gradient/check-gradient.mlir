// RUN: hr-opt --pass-pipeline="builtin.module(func.func(differentiate,simplify-algebra,cse),split-gradient)" %s | FileCheck %s

// The backward program scatters by indices that the forward one has checked.
// CHECK-LABEL: func.func @forward
// CHECK: hr.check index
// CHECK: hr.gather
// CHECK-LABEL: func.func @backward
// CHECK-NOT: hr.check
// CHECK: hr.scatter {{.*}} by sum
func.func @main(%table: tensor<10x8xf32>, %i: tensor<4xi64>) -> tensor<4x8xf32> {
  %checked = hr.check index %i in affine_map<() -> (-10, 10)> for "node 'embed' (Gather)" : tensor<4xi64>
  %y = hr.gather %table, %checked {axis = 0 : i64} : (tensor<10x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
