// RUN: hr-opt --pass-pipeline='builtin.module(func.func(gather-to-slices))' --mlir-print-local-scope --split-input-file %s | FileCheck %s
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,gather-to-slices,compare-answers))' %s -o /dev/null

// The example of the pass.
// CHECK-LABEL: func.func @example(
// CHECK-SAME: %[[X:.*]]: tensor<4x16xf32>, %[[Y:.*]]: tensor<4x2xf32>)
// CHECK: %[[A:.*]] = hr.slice %[[X]] from affine_map<() -> (0, 3)> steps [1, 1] : (tensor<4x16xf32>) -> tensor<4x5xf32>
// CHECK: %[[B:.*]] = hr.slice %[[X]] from affine_map<() -> (0, 12)> steps [1, 1] : (tensor<4x16xf32>) -> tensor<4x4xf32>
// CHECK: hr.concat %[[Y]], %[[A]], %[[B]] {axis = 1 : i64}
// CHECK-NOT: hr.gather
func.func @example(%x: tensor<4x16xf32>, %y: tensor<4x2xf32>) -> tensor<4x11xf32> {
  %i = hr.constant dense<[3, 4, 5, 6, 7, -4, -3, -2, -1]> : tensor<9xi64>
  %p = hr.gather %x, %i {axis = 1 : i64} : (tensor<4x16xf32>, tensor<9xi64>) -> tensor<4x9xf32>
  %r = hr.concat %y, %p {axis = 1 : i64} : (tensor<4x2xf32>, tensor<4x9xf32>) -> tensor<4x11xf32>
  return %r : tensor<4x11xf32>
}

// -----

// One run is a slice.
// CHECK-LABEL: func.func @one_run
// CHECK: %[[P:.*]] = hr.slice
// CHECK-NEXT: return %[[P]]
func.func @one_run(%x: tensor<4x16xf32>) -> tensor<4x4xf32> {
  %i = hr.constant dense<[3, 4, 5, 6]> : tensor<4xi32>
  %p = hr.gather %x, %i {axis = 1 : i64} : (tensor<4x16xf32>, tensor<4xi32>) -> tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}

// -----

// Short runs, rows, and numbers that are not known stay what they are.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: hr.gather
// CHECK-NOT: hr.slice
func.func @others(%x: tensor<4x16xf32>, %n: tensor<8xi64>) -> (tensor<4x4xf32>, tensor<4x16xf32>, tensor<4x8xf32>) {
  %i = hr.constant dense<[3, 5, 7, 9]> : tensor<4xi64>
  %j = hr.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
  %p = hr.gather %x, %i {axis = 1 : i64} : (tensor<4x16xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  %q = hr.gather %x, %j {axis = 0 : i64} : (tensor<4x16xf32>, tensor<4xi64>) -> tensor<4x16xf32>
  %r = hr.gather %x, %n {axis = 1 : i64} : (tensor<4x16xf32>, tensor<8xi64>) -> tensor<4x8xf32>
  return %p, %q, %r : tensor<4x4xf32>, tensor<4x16xf32>, tensor<4x8xf32>
}
