// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-bound-loops,canonicalize,cse))' %s | FileCheck %s

// Rows %i to %i + 15 of a lower triangle: its last column is that of the last row, and no row is
// masked before the column of the first one.
// CHECK-LABEL: @sum_of_triangle(%arg0: tensor<64x64xf32>, %arg1: index)
// CHECK-DAG: %[[LAST:.*]] = arith.addi %arg1, %c16
// CHECK-DAG: %[[END:.*]] = arith.minsi %[[LAST]], %c64
// CHECK-DAG: %[[FIRST:.*]] = arith.addi %arg1, %c1
// CHECK: %[[PART:.*]] = scf.for %{{.*}} = %c0 to %[[MIDDLE:.*]] step %c1
// CHECK-NOT: arith.select
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %[[MIDDLE]] to %[[END]] step %c1 iter_args(%{{.*}} = %[[PART]])
// CHECK: arith.select
func.func @sum_of_triangle(%a: tensor<64x64xf32>, %i: index) -> vector<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %lanes = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xindex>
  %first = vector.broadcast %i : index to vector<16xindex>
  %rows = arith.addi %first, %lanes : vector<16xindex>
  %rows64 = arith.index_cast %rows : vector<16xindex> to vector<16xi64>
  %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%acc = %zero) -> vector<16xf32> {
    %x = vector.transfer_read %a[%k, %i], %pad : tensor<64x64xf32>, vector<16xf32>
    %k64 = arith.index_cast %k : index to i64
    %column = vector.broadcast %k64 : i64 to vector<16xi64>
    %in = arith.cmpi sle, %column, %rows64 : vector<16xi64>
    %kept = arith.select %in, %x, %zero : vector<16xi1>, vector<16xf32>
    %new = arith.addf %acc, %kept : vector<16xf32>
    scf.yield %new : vector<16xf32>
  }
  return %sum : vector<16xf32>
}

// The largest element of row %i of an upper triangle, in vectors along the row.
// CHECK-LABEL: @largest_of_row(%arg0: tensor<64x64xf32>, %arg1: index)
// CHECK: %[[PART:.*]] = scf.for %{{.*}} = %[[BEGIN:.*]] to %[[MIDDLE:.*]] step %c16
// CHECK: arith.select
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %[[MIDDLE]] to %c64 step %c16 iter_args(%{{.*}} = %[[PART]])
// CHECK-NOT: arith.select
// CHECK: return
func.func @largest_of_row(%a: tensor<64x64xf32>, %i: index) -> vector<16xf32> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %pad = arith.constant 0.0 : f32
  %none = arith.constant dense<0xFF800000> : vector<16xf32>
  %lanes = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xindex>
  %row = vector.broadcast %i : index to vector<16xindex>
  %largest = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc = %none) -> vector<16xf32> {
    %x = vector.transfer_read %a[%i, %k], %pad : tensor<64x64xf32>, vector<16xf32>
    %first = vector.broadcast %k : index to vector<16xindex>
    %column = arith.addi %first, %lanes : vector<16xindex>
    %in = arith.cmpi sge, %column, %row : vector<16xindex>
    %kept = arith.select %in, %x, %none : vector<16xi1>, vector<16xf32>
    %new = arith.maximumf %acc, %kept : vector<16xf32>
    scf.yield %new : vector<16xf32>
  }
  return %largest : vector<16xf32>
}

// A product that starts over, and a condition on values, leave nothing out.
// CHECK-LABEL: @all_needed
// CHECK-COUNT-2: scf.for %{{.*}} = %c0 to %c64 step %c1
// CHECK-NOT: scf.for
func.func @all_needed(%a: tensor<64xf32>, %i: index) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %product = scf.for %k = %c0 to %c64 step %c1 iter_args(%acc = %one) -> f32 {
    %x = tensor.extract %a[%k] : tensor<64xf32>
    %in = arith.cmpi sle, %k, %i : index
    %kept = arith.select %in, %x, %zero : f32
    %new = arith.mulf %acc, %kept : f32
    scf.yield %new : f32
  }
  %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%acc = %zero) -> f32 {
    %x = tensor.extract %a[%k] : tensor<64xf32>
    %in = arith.cmpf olt, %x, %one : f32
    %kept = arith.select %in, %x, %zero : f32
    %new = arith.addf %acc, %kept : f32
    scf.yield %new : f32
  }
  return %product, %sum : f32, f32
}
