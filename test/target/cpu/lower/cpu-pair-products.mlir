// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-pair-products))' %s | FileCheck %s

// Before: a tile of two rows and 32 columns adds one term at a time.
// After: two terms at a time. Within each 16 bytes, the first vector of a row has the lower columns,
// the second one the upper columns, and the loop around carries them so.
// CHECK-LABEL: func.func @tile
// CHECK: %[[ALL:.*]]:4 = scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: %[[SUMS:.*]]:4 = scf.for %[[K:.*]] = %c0 to %c64 step %c2
// CHECK: %[[NEXT:.*]] = arith.addi %[[K]], %c1
// CHECK: %[[W0:.*]] = vector.transfer_read %arg1[%{{.*}}, %[[K]], %c0]
// CHECK: %[[W1:.*]] = vector.transfer_read %arg1[%{{.*}}, %[[NEXT]], %c0]
// CHECK: vector.transfer_read %arg0[%c0, %[[K]]], {{.*}} vector<2x2xbf16>
// CHECK: vector.shuffle {{.*}} [0, 32, 1, 33, 2, 34, 3, 35, 8, 40, {{.*}} : vector<32xbf16>, vector<32xbf16>
// CHECK: vector.shuffle {{.*}} [4, 36, 5, 37, 6, 38, 7, 39, 12, 44, {{.*}} : vector<32xbf16>, vector<32xbf16>
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK-NOT: llvm.call_intrinsic
// CHECK-NOT: vector.contract
// CHECK: scf.yield %[[SUMS]]#0, %[[SUMS]]#1, %[[SUMS]]#2, %[[SUMS]]#3
// CHECK: vector.shuffle %[[ALL]]#0, %[[ALL]]#1 [0, 1, 2, 3, 16, 17, 18, 19, 4,
#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (m, n, k)>
#result = affine_map<(m, n, k) -> (m, n)>
func.func @tile(%x: memref<2x64xbf16>, %w: memref<3x64x32xbf16>) -> vector<2x32xf32> {
  %zero = arith.constant 0.0 : bf16
  %start = arith.constant dense<0.0> : vector<2x32xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %sums = scf.for %p = %c0 to %c3 step %c1 iter_args(%outer = %start) -> (vector<2x32xf32>) {
    %inner = scf.for %k = %c0 to %c64 step %c1 iter_args(%acc = %outer) -> (vector<2x32xf32>) {
      %a = vector.transfer_read %x[%c0, %k], %zero {in_bounds = [true, true]} : memref<2x64xbf16>, vector<2x1xbf16>
      %b = vector.transfer_read %w[%p, %k, %c0], %zero {in_bounds = [true, true]} : memref<3x64x32xbf16>, vector<1x32xbf16>
      %c = vector.broadcast %b : vector<1x32xbf16> to vector<2x1x32xbf16>
      %d = vector.shape_cast %c : vector<2x1x32xbf16> to vector<2x32x1xbf16>
      %e = arith.extf %a : vector<2x1xbf16> to vector<2x1xf32>
      %f = arith.extf %d : vector<2x32x1xbf16> to vector<2x32x1xf32>
      %s = vector.contract {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %e, %f, %acc
          : vector<2x1xf32>, vector<2x32x1xf32> into vector<2x32xf32>
      scf.yield %s : vector<2x32xf32>
    }
    scf.yield %inner : vector<2x32xf32>
  }
  return %sums : vector<2x32xf32>
}

// An odd number of terms: the last one is added by itself. Eleven columns take a vector of 16.
// CHECK-LABEL: func.func @rest
// CHECK: %[[REST:.*]] = arith.remui
// CHECK: %[[MIDDLE:.*]] = arith.subi %{{.*}}, %[[REST]]
// CHECK: scf.for {{.*}} to %[[MIDDLE]] step %c2
// CHECK: dpbf16ps.512
// CHECK: scf.for {{.*}} = %[[MIDDLE]] to %{{.*}} step %c1
// CHECK: vector.contract
func.func @rest(%x: memref<2x63xbf16>, %w: memref<63x11xbf16>) -> vector<2x11xf32> {
  %zero = arith.constant 0.0 : bf16
  %start = arith.constant dense<0.0> : vector<2x11xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c63 = arith.constant 63 : index
  %sums = scf.for %k = %c0 to %c63 step %c1 iter_args(%acc = %start) -> (vector<2x11xf32>) {
    %a = vector.transfer_read %x[%c0, %k], %zero {in_bounds = [true, true]} : memref<2x63xbf16>, vector<2x1xbf16>
    %b = vector.transfer_read %w[%k, %c0], %zero {in_bounds = [true, true]} : memref<63x11xbf16>, vector<1x11xbf16>
    %c = vector.broadcast %b : vector<1x11xbf16> to vector<2x1x11xbf16>
    %d = vector.shape_cast %c : vector<2x1x11xbf16> to vector<2x11x1xbf16>
    %e = arith.extf %a : vector<2x1xbf16> to vector<2x1xf32>
    %f = arith.extf %d : vector<2x11x1xbf16> to vector<2x11x1xf32>
    %s = vector.contract {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %e, %f, %acc
        : vector<2x1xf32>, vector<2x11x1xf32> into vector<2x11xf32>
    scf.yield %s : vector<2x11xf32>
  }
  return %sums : vector<2x11xf32>
}

// Factors of f32 stay as they are.
// CHECK-LABEL: func.func @wide
// CHECK: step %c1
// CHECK-NOT: llvm.call_intrinsic
// CHECK: return
func.func @wide(%x: memref<2x64xf32>, %w: memref<64x32xbf16>) -> vector<2x32xf32> {
  %zero = arith.constant 0.0 : bf16
  %single = arith.constant 0.0 : f32
  %start = arith.constant dense<0.0> : vector<2x32xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %sums = scf.for %k = %c0 to %c64 step %c1 iter_args(%acc = %start) -> (vector<2x32xf32>) {
    %a = vector.transfer_read %x[%c0, %k], %single {in_bounds = [true, true]} : memref<2x64xf32>, vector<2x1xf32>
    %b = vector.transfer_read %w[%k, %c0], %zero {in_bounds = [true, true]} : memref<64x32xbf16>, vector<1x32xbf16>
    %c = vector.broadcast %b : vector<1x32xbf16> to vector<2x1x32xbf16>
    %d = vector.shape_cast %c : vector<2x1x32xbf16> to vector<2x32x1xbf16>
    %f = arith.extf %d : vector<2x32x1xbf16> to vector<2x32x1xf32>
    %s = vector.contract {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %f, %acc
        : vector<2x1xf32>, vector<2x32x1xf32> into vector<2x32xf32>
    scf.yield %s : vector<2x32xf32>
  }
  return %sums : vector<2x32xf32>
}
