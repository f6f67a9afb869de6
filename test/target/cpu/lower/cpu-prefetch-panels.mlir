// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-prefetch-panels{core-bytes=1048576}))' %s | FileCheck %s
// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-prefetch-panels{core-bytes=49152}))' %s | FileCheck %s --check-prefix=LATE
// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-prefetch-panels{core-bytes=32768}))' %s | FileCheck %s --check-prefix=NONE
// NONE-NOT: memref.prefetch

// A core's cache of 48 KiB holds one panel of 32 KiB, but not two: the last of seven rows fetches
// the next panel, all lines of it. The others fetch what they use.
// LATE-DAG: #[[SHARE:.*]] = affine_map<(d0, d1) -> (d0 * 8192 + d1 - 49152)>
// LATE-DAG: #[[OWN:.*]] = affine_map<(d0) -> (d0 * 8192)>
// LATE-DAG: #[[AT:.*]] = affine_map<(d0, d1) -> (d0 * 32 + d1)>
// LATE-LABEL: func.func @rows
// LATE: %[[NEXT:.*]] = affine.min
// LATE: scf.for %[[ROW:[a-z0-9]+]] =
// LATE: %[[SHARE_OF_ROW:.*]] = affine.apply #[[SHARE]](%[[ROW]], %[[NEXT]])
// LATE: %[[EARLY:.*]] = arith.cmpi slt, %[[SHARE_OF_ROW]], %[[NEXT]]
// LATE: %[[USED:.*]] = affine.apply #[[OWN]]
// LATE: %[[FROM:.*]] = arith.select %[[EARLY]], %[[USED]], %[[SHARE_OF_ROW]]
// LATE: scf.for %[[K:[a-z0-9]+]] =
// LATE: affine.apply #[[AT]](%[[K]], %[[FROM]])
// LATE-NEXT: memref.prefetch
// LATE: memref.prefetch
// LATE: vector.transfer_read %arg1

// Before: seven rows use the panel of a cell.
// After: each of them fetches a seventh of the next one, which lies behind it; the last panel is
// followed by none.
// CHECK-DAG: #[[NEXT:.*]] = affine_map<(d0) -> (d0 * 8192 + 8192, 122880)>
// CHECK-DAG: #[[SECOND:.*]] = affine_map<(d0) -> (d0 * 8192 + 16384, 122880)>
// CHECK-DAG: #[[PLACE:.*]] = affine_map<(d0, d1, d2) -> (d0 * 5 + d1 * 1280 + d2)>
// CHECK-LABEL: func.func @rows
// CHECK: scf.for %[[CELL:.*]] = %arg2 to %arg3
// CHECK: %[[FLAT:.*]] = memref.collapse_shape %arg1
// CHECK: %[[BEGIN:.*]] = affine.min #[[NEXT]](%[[CELL]])
// CHECK: scf.for %[[ROW:[a-z0-9]+]] =
// CHECK: scf.for %[[K:[a-z0-9]+]] =
// CHECK: %[[AT:.*]] = affine.apply #[[PLACE]](%[[K]], %[[ROW]], %[[BEGIN]])
// CHECK: memref.prefetch %[[FLAT]][%[[AT]]], read, locality<2>, data
// CHECK: vector.transfer_read %arg1
func.func @rows(%x: memref<7x256xf32>, %w: memref<16x256x32xf32>, %begin: index, %end: index) {
  %zero = arith.constant 0.0 : f32
  %start = arith.constant dense<0.0> : vector<32xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c256 = arith.constant 256 : index
  scf.for %cell = %begin to %end step %c1 {
    scf.for %row = %c0 to %c7 step %c1 {
      %sum = scf.for %k = %c0 to %c256 step %c1 iter_args(%acc = %start) -> (vector<32xf32>) {
        %v = vector.transfer_read %w[%cell, %k, %c0], %zero {in_bounds = [true]} : memref<16x256x32xf32>, vector<32xf32>
        %s = arith.addf %acc, %v : vector<32xf32>
        scf.yield %s : vector<32xf32>
      }
    }
  }
  return
}

// A panel that one row uses, and one so small that the processor fetches it ahead by itself.
// CHECK-LABEL: func.func @nothing
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @nothing(%w: memref<16x256x32xf32>, %u: memref<16x4x32xf32>, %begin: index, %end: index) {
  %zero = arith.constant 0.0 : f32
  %start = arith.constant dense<0.0> : vector<32xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %c256 = arith.constant 256 : index
  scf.for %cell = %begin to %end step %c1 {
    %sum = scf.for %k = %c0 to %c256 step %c1 iter_args(%acc = %start) -> (vector<32xf32>) {
      %v = vector.transfer_read %w[%cell, %k, %c0], %zero {in_bounds = [true]} : memref<16x256x32xf32>, vector<32xf32>
      %s = arith.addf %acc, %v : vector<32xf32>
      scf.yield %s : vector<32xf32>
    }
    scf.for %row = %c0 to %c7 step %c1 {
      %few = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %start) -> (vector<32xf32>) {
        %v = vector.transfer_read %u[%cell, %k, %c0], %zero {in_bounds = [true]} : memref<16x4x32xf32>, vector<32xf32>
        %s = arith.addf %acc, %v : vector<32xf32>
        scf.yield %s : vector<32xf32>
      }
    }
  }
  return
}

// As far ahead as the schedule says, or not at all.
// CHECK-LABEL: func.func @ahead
// CHECK: affine.min #[[SECOND]]
// CHECK: memref.prefetch
// CHECK: vector.transfer_read %arg0
// CHECK-NOT: memref.prefetch
// CHECK: vector.transfer_read %arg1
func.func @ahead(%w: memref<16x256x32xf32> {hr.prefetch = 2 : i64}, %u: memref<16x256x32xf32> {hr.prefetch = 0 : i64}, %begin: index, %end: index) {
  %zero = arith.constant 0.0 : f32
  %start = arith.constant dense<0.0> : vector<32xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c256 = arith.constant 256 : index
  scf.for %cell = %begin to %end step %c1 {
    scf.for %row = %c0 to %c7 step %c1 {
      %sum = scf.for %k = %c0 to %c256 step %c1 iter_args(%acc = %start) -> (vector<32xf32>) {
        %v = vector.transfer_read %w[%cell, %k, %c0], %zero {in_bounds = [true]} : memref<16x256x32xf32>, vector<32xf32>
        %v2 = vector.transfer_read %u[%cell, %k, %c0], %zero {in_bounds = [true]} : memref<16x256x32xf32>, vector<32xf32>
        %s = arith.addf %acc, %v : vector<32xf32>
        %s2 = arith.addf %s, %v2 : vector<32xf32>
        scf.yield %s2 : vector<32xf32>
      }
    }
  }
  return
}
