// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-prefetch-rows))' %s | FileCheck %s

// Before: two passes over a row, and one that writes. After: the second pass fetches the next row,
// as far as there is one, and the row to be written.
// CHECK-LABEL: func.func @passes
// CHECK: scf.for %[[ROW:.*]] = %arg2 to %arg3
// CHECK: %[[LAST:.*]] = arith.subi %arg3
// CHECK: %[[AFTER:.*]] = arith.addi %[[ROW]]
// CHECK: %[[NEXT:.*]] = arith.minsi %[[AFTER]], %[[LAST]]
// CHECK: scf.for
// CHECK-NOT: memref.prefetch
// CHECK: memref.subview %arg1
// CHECK: scf.for %[[C:.*]] =
// CHECK: memref.prefetch %arg0[%[[NEXT]], %{{.*}}], read, locality<3>, data
// CHECK: memref.prefetch %{{.*}}, write, locality<3>, data
// CHECK: scf.for
// CHECK-NOT: memref.prefetch
func.func @passes(%x: memref<8x64xf32>, %y: memref<8x64xf32>, %begin: index, %end: index) {
  %zero = arith.constant 0.0 : f32
  %start = arith.constant dense<0.0> : vector<16xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %local = memref.alloc() : memref<1x64xf32>
  scf.for %row = %begin to %end step %c1 {
    %sum = scf.for %c = %c0 to %c64 step %c16 iter_args(%acc = %start) -> (vector<16xf32>) {
      %v = vector.transfer_read %x[%row, %c], %zero {in_bounds = [true]} : memref<8x64xf32>, vector<16xf32>
      %s = arith.addf %acc, %v : vector<16xf32>
      scf.yield %s : vector<16xf32>
    }
    scf.for %c = %c0 to %c64 step %c16 {
      %v = vector.transfer_read %x[%row, %c], %zero {in_bounds = [true]} : memref<8x64xf32>, vector<16xf32>
      %s = arith.mulf %sum, %v : vector<16xf32>
      vector.transfer_write %s, %local[%c0, %c] {in_bounds = [true]} : vector<16xf32>, memref<1x64xf32>
    }
    %out = memref.subview %y[%row, 0] [1, 64] [1, 1] : memref<8x64xf32> to memref<1x64xf32, strided<[64, 1], offset: ?>>
    scf.for %c = %c0 to %c64 step %c16 {
      %v = vector.transfer_read %local[%c0, %c], %zero {in_bounds = [true]} : memref<1x64xf32>, vector<16xf32>
      vector.transfer_write %v, %out[%c0, %c] {in_bounds = [true]} : vector<16xf32>, memref<1x64xf32, strided<[64, 1], offset: ?>>
    }
  }
  return
}
