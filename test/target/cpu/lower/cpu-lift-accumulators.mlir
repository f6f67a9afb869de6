// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-lift-accumulators))' %s | FileCheck %s

// Before: every step of the reduction reads the tile of sums from memory and writes it back.
// After: the tile is carried over the loop as a vector, and the step is a contraction.
// CHECK-LABEL: func.func @tile
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<4x16xf32>
// CHECK: %[[SUM:.*]] = scf.for %[[K:.*]] = {{.*}} iter_args(%[[ACC:.*]] = %[[ZERO]]) -> (vector<4x16xf32>)
// CHECK-NEXT: %[[A:.*]] = vector.transfer_read %arg0[%c0, %[[K]]]
// CHECK-NEXT: %[[B:.*]] = vector.transfer_read %arg1[%[[K]], %c0]
// CHECK-NEXT: %[[NEXT:.*]] = vector.contract {{.*}} %[[A]], %[[B]], %[[ACC]]
// CHECK-NEXT: scf.yield %[[NEXT]] : vector<4x16xf32>
// CHECK: vector.transfer_write %[[SUM]], %{{.*}} : vector<4x16xf32>, tensor<4x16xf32>
func.func @tile(%a: tensor<4x24xf32>, %b: tensor<24x16xf32>) -> tensor<4x16xf32> {
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4x16xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %e = tensor.empty() : tensor<4x16xf32>
  %init = vector.transfer_write %zero, %e[%c0, %c0] {in_bounds = [true, true]} : vector<4x16xf32>, tensor<4x16xf32>
  %r = scf.for %k = %c0 to %c24 step %c1 iter_args(%t = %init) -> (tensor<4x16xf32>) {
    %0 = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : tensor<4x24xf32>, vector<4x1xf32>
    %1 = vector.broadcast %0 : vector<4x1xf32> to vector<16x4x1xf32>
    %2 = vector.transpose %1, [1, 0, 2] : vector<16x4x1xf32> to vector<4x16x1xf32>
    %3 = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true, true]} : tensor<24x16xf32>, vector<1x16xf32>
    %4 = vector.broadcast %3 : vector<1x16xf32> to vector<4x1x16xf32>
    %5 = vector.transpose %4, [0, 2, 1] : vector<4x1x16xf32> to vector<4x16x1xf32>
    %6 = vector.transfer_read %t[%c0, %c0], %pad {in_bounds = [true, true]} : tensor<4x16xf32>, vector<4x16xf32>
    %7 = arith.mulf %2, %5 : vector<4x16x1xf32>
    %8 = vector.multi_reduction <add>, %7, %6 [2] : vector<4x16x1xf32> to vector<4x16xf32>
    %9 = vector.transfer_write %8, %t[%c0, %c0] {in_bounds = [true, true]} : vector<4x16xf32>, tensor<4x16xf32>
    scf.yield %9 : tensor<4x16xf32>
  }
  return %r : tensor<4x16xf32>
}

// The part of a slice that a vector does not cover is not lost.
// CHECK-LABEL: func.func @partial
// CHECK: %[[ALL:.*]] = tensor.insert_slice %arg1 into %arg2[2, 3] [4, 4] [1, 1]
// CHECK: vector.transfer_write %arg0, %[[ALL]][%c4, %c3]
func.func @partial(%v: vector<2x4xf32>, %x: tensor<4x4xf32>, %t: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %w = vector.transfer_write %v, %x[%c2, %c0] {in_bounds = [true, true]} : vector<2x4xf32>, tensor<4x4xf32>
  %r = tensor.insert_slice %w into %t[2, 3] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// One product at a time, of a tile with dimensions of one element: the write has them, the read has not.
// CHECK-LABEL: func.func @units
// CHECK: %[[SUM:.*]] = scf.for %[[K:.*]] = {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<4x16xf32>)
// CHECK: %[[NEXT:.*]] = arith.addf %[[ACC]]
// CHECK-NEXT: scf.yield %[[NEXT]] : vector<4x16xf32>
// CHECK: vector.transfer_write %[[SUM]], %{{.*}} : vector<4x16xf32>, tensor<4x1x16xf32>
func.func @units(%a: tensor<4x24xf32>, %b: tensor<24x16xf32>, %init: tensor<4x1x16xf32>) -> tensor<4x1x16xf32> {
  %pad = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %r = scf.for %k = %c0 to %c24 step %c1 iter_args(%t = %init) -> (tensor<4x1x16xf32>) {
    %0 = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true], permutation_map = affine_map<(d0, d1) -> (d0)>} : tensor<4x24xf32>, vector<4xf32>
    %1 = vector.broadcast %0 : vector<4xf32> to vector<16x4xf32>
    %2 = vector.transpose %1, [1, 0] : vector<16x4xf32> to vector<4x16xf32>
    %3 = vector.transfer_read %b[%k, %c0], %pad {in_bounds = [true]} : tensor<24x16xf32>, vector<16xf32>
    %4 = vector.broadcast %3 : vector<16xf32> to vector<4x16xf32>
    %5 = vector.transfer_read %t[%c0, %c0, %c0], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1, d2) -> (d0, d2)>} : tensor<4x1x16xf32>, vector<4x16xf32>
    %6 = arith.mulf %2, %4 : vector<4x16xf32>
    %7 = arith.addf %5, %6 : vector<4x16xf32>
    %8 = vector.shape_cast %7 : vector<4x16xf32> to vector<4x1x16xf32>
    %9 = vector.transfer_write %8, %t[%c0, %c0, %c0] {in_bounds = [true, true, true]} : vector<4x1x16xf32>, tensor<4x1x16xf32>
    scf.yield %9 : tensor<4x1x16xf32>
  }
  return %r : tensor<4x1x16xf32>
}
