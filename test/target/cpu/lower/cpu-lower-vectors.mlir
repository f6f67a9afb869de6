// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-lower-vectors))' %s | FileCheck %s

// Before: one step of a tile of 2 rows and 16 features.
// After: a fused multiply-add per row, in machine vectors.
// CHECK-LABEL: func.func @step
// CHECK: %[[B:.*]] = vector.extract %arg1[0] : vector<16xf32>
// CHECK: %[[A0:.*]] = vector.extract %arg0[0, 0] : f32
// CHECK: %[[S0:.*]] = vector.splat %[[A0]] : vector<16xf32>
// CHECK: %[[C0:.*]] = vector.extract %arg2[0] : vector<16xf32>
// CHECK: vector.fma %[[S0]], %[[B]], %[[C0]] : vector<16xf32>
// CHECK: %[[A1:.*]] = vector.extract %arg0[1, 0] : f32
// CHECK: %[[S1:.*]] = vector.splat %[[A1]] : vector<16xf32>
// CHECK: vector.fma %[[S1]], %[[B]], %{{.*}} : vector<16xf32>
// CHECK-NOT: vector.contract
// CHECK: return
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#res = affine_map<(m, n, k) -> (m, n)>
func.func @step(%a: vector<2x1xf32>, %b: vector<1x16xf32>, %acc: vector<2x16xf32>) -> vector<2x16xf32> {
  %0 = vector.contract {indexing_maps = [#lhs, #rhs, #res], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %acc
      : vector<2x1xf32>, vector<1x16xf32> into vector<2x16xf32>
  return %0 : vector<2x16xf32>
}

// A tile is stored a row at a time.
// CHECK-LABEL: func.func @store
// CHECK: vector.store %{{.*}}, %arg1[%c0, %c0] : memref<2x16xf32>, vector<16xf32>
// CHECK: vector.store %{{.*}}, %arg1[%c1, %c0] : memref<2x16xf32>, vector<16xf32>
// CHECK-NOT: vector.transfer_write
// CHECK: return
func.func @store(%v: vector<2x16xf32>, %out: memref<2x16xf32>) {
  %c0 = arith.constant 0 : index
  vector.transfer_write %v, %out[%c0, %c0] {in_bounds = [true, true]} : vector<2x16xf32>, memref<2x16xf32>
  return
}

// A reduction's dimension of one element, last in what it computes, keeps nothing out of vectors.
// CHECK-LABEL: func.func @sum_of_products
// CHECK: %[[E:.*]] = math.exp %{{.*}} : vector<16xf32>
// CHECK: vector.fma %{{.*}}, %{{.*}}, %arg2 : vector<16xf32>
// CHECK-NOT: vector<16x1xf32>
// CHECK: return
#both = affine_map<(n, k) -> (n, k)>
#sum = affine_map<(n, k) -> (n)>
func.func @sum_of_products(%x: vector<16xf32>, %y: vector<16xf32>, %acc: vector<16xf32>) -> vector<16xf32> {
  %a = vector.shape_cast %x : vector<16xf32> to vector<16x1xf32>
  %b = vector.shape_cast %y : vector<16xf32> to vector<16x1xf32>
  %e = math.exp %b : vector<16x1xf32>
  %0 = vector.contract {indexing_maps = [#both, #both, #sum], iterator_types = ["parallel", "reduction"], kind = #vector.kind<add>} %a, %e, %acc
      : vector<16x1xf32>, vector<16x1xf32> into vector<16xf32>
  return %0 : vector<16xf32>
}

// Elements of an image of one channel, each of which fills a row, are broadcasts.
// CHECK-LABEL: func.func @fill_rows
// CHECK: %[[X:.*]] = vector.extract %arg0[0] : f32 from vector<3xf32>
// CHECK: vector.splat %[[X]] : vector<5xf32>
// CHECK: vector.extract %arg0[2] : f32 from vector<3xf32>
// CHECK-NOT: vector.shuffle
// CHECK-NOT: vector.transpose
// CHECK: return
func.func @fill_rows(%v: vector<3xf32>) -> vector<3x5xf32> {
  %0 = vector.broadcast %v : vector<3xf32> to vector<5x3xf32>
  %1 = vector.transpose %0, [1, 0] : vector<5x3xf32> to vector<3x5xf32>
  return %1 : vector<3x5xf32>
}

// A square of 32 bytes a row is transposed by shuffles of two rows each: 24 of 8 rows, 8 of 4.
// CHECK-LABEL: func.func @square
// CHECK-COUNT-24: vector.shuffle %{{.*}} : vector<8xf32>, vector<8xf32>
// CHECK-NOT: vector.shuffle
// CHECK-LABEL: func.func @square_of_doubles
// CHECK-COUNT-8: vector.shuffle %{{.*}} : vector<4xf64>, vector<4xf64>
// CHECK-NOT: vector.shuffle
// CHECK: return
func.func @square(%x: vector<8x8xf32>) -> vector<8x8xf32> {
  %0 = vector.transpose %x, [1, 0] : vector<8x8xf32> to vector<8x8xf32>
  return %0 : vector<8x8xf32>
}
func.func @square_of_doubles(%x: vector<4x4xf64>) -> vector<4x4xf64> {
  %0 = vector.transpose %x, [1, 0] : vector<4x4xf64> to vector<4x4xf64>
  return %0 : vector<4x4xf64>
}
