// RUN: hr-opt %s --pass-pipeline='builtin.module(func.func(choose-expansions{target=cpu:x86-64-v3}))' | FileCheck %s

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>

// Register tiles need to know the columns: without, loops take an element at a time.
// CHECK-LABEL: func @open_columns
// CHECK: hr.library "openblas.sgemm"
func.func @open_columns(%a: tensor<512x512xf32>, %b: tensor<512x?xf32, affine_map<()[s0] -> (512, s0)>>) -> tensor<512x?xf32, affine_map<()[s0] -> (512, s0)>> {
  %0 = hr.contract %a, %b maps [#lhs, #rhs, #out] : (tensor<512x512xf32>, tensor<512x?xf32, affine_map<()[s0] -> (512, s0)>>) -> tensor<512x?xf32, affine_map<()[s0] -> (512, s0)>>
  return %0 : tensor<512x?xf32, affine_map<()[s0] -> (512, s0)>>
}

// Open rows are tiles of registers like any others, and their results need not be written and read again.
// CHECK-LABEL: func @open_rows
// CHECK: hr.contract
func.func @open_rows(%a: tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>) -> tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>
    attributes {hr.expected_sizes = array<i64: 100000>} {
  %b = hr.constant dense<0.5> : tensor<64x64xf32>
  %0 = hr.contract %a, %b maps [#lhs, #rhs, #out] : (tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>, tensor<64x64xf32>) -> tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>
  return %0 : tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>
}

// A library's call takes longer than so small a product.
// CHECK-LABEL: func @small
// CHECK: hr.contract
func.func @small(%a: tensor<17x17xf32>, %b: tensor<17x17xf32>) -> tensor<17x17xf32> {
  %0 = hr.contract %a, %b maps [#lhs, #rhs, #out] : (tensor<17x17xf32>, tensor<17x17xf32>) -> tensor<17x17xf32>
  return %0 : tensor<17x17xf32>
}

#batchLhs = affine_map<(b, m, n, k) -> (b, m, k)>
#batchRhs = affine_map<(b, m, n, k) -> (b, n, k)>
#batchOut = affine_map<(b, m, n, k) -> (b, m, n)>

// So does a call for each of many small ones, both of whose operands lie along what is summed up: loops put one of
// them into the order of the columns.
// CHECK-LABEL: func @batch_of_small
// CHECK-NOT: hr.transpose
// CHECK: hr.contract {{.*}}hr.turns_operand
func.func @batch_of_small(%a: tensor<512x27x64xf32>) -> tensor<512x27x27xf32> {
  %0 = hr.contract %a, %a maps [#batchLhs, #batchRhs, #batchOut] : (tensor<512x27x64xf32>, tensor<512x27x64xf32>) -> tensor<512x27x27xf32>
  return %0 : tensor<512x27x27xf32>
}
