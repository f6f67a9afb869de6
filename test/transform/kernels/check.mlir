// RUN: hr-opt --split-input-file --pass-pipeline="builtin.module(func.func(fold-constants,form-kernels,verify-level2))" %s | FileCheck %s
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,form-kernels,compare-answers))' %s -o /dev/null

// A check stays a step between kernels, and the kernel behind it reads what it passes on. What
// computes the indices is a kernel of its own, because the check reads them from memory.
// CHECK-LABEL: func.func @gather
// CHECK: %[[NEXT:.*]] = hr.kernel
// CHECK: %[[CHECKED:.*]] = hr.check index %[[NEXT]] in #{{.*}} for "node 'embed' (Gather)" : tensor<4xi64>
// CHECK: hr.kernel {{.*}}(%{{.*}}, %[[CHECKED]])
func.func @gather(%table: tensor<10x8xf32>, %i: tensor<4xi64>) -> tensor<4x8xf32> {
  %next = hr.map(%i) : (tensor<4xi64>) -> tensor<4xi64> {
  ^bb0(%v: i64):
    %one = arith.constant 1 : i64
    %r = arith.addi %v, %one : i64
    hr.yield %r : i64
  }
  %checked = hr.check index %next in affine_map<() -> (-10, 10)> for "node 'embed' (Gather)" : tensor<4xi64>
  %y = hr.gather %table, %checked {axis = 0 : i64} : (tensor<10x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Constants that are allowed need no check when the program runs.
// CHECK-LABEL: func.func @constant
// CHECK-NOT: hr.check
func.func @constant(%table: tensor<10x8xf32>) -> tensor<2x8xf32> {
  %i = hr.constant dense<[-10, 9]> : tensor<2xi64>
  %checked = hr.check index %i in affine_map<() -> (-10, 10)> for "node" : tensor<2xi64>
  %y = hr.gather %table, %checked {axis = 0 : i64} : (tensor<10x8xf32>, tensor<2xi64>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// Others are an error of the run, not of the compiler.
// CHECK-LABEL: func.func @wrong_constant
// CHECK: hr.check target
func.func @wrong_constant(%table: tensor<10x8xf32>) -> tensor<2x8xf32> {
  %i = hr.constant dense<[-10, 9]> : tensor<2xi64>
  %checked = hr.check target %i in affine_map<() -> (0, 10)> for "node" except -100 : tensor<2xi64>
  %y = hr.gather %table, %checked {axis = 0 : i64} : (tensor<10x8xf32>, tensor<2xi64>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}
