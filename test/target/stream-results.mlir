// RUN: hr-opt %s --pass-pipeline='builtin.module(stream-results{target=cpu:x86-64-v3})' | FileCheck %s

// 1 GB of results: no cache holds them. What runs slice by slice, is small, or takes as long to compute,
// stays in the caches.
func.func @main(%x: tensor<16384x16384xf32>, %v: tensor<64xf32>) -> (tensor<16384x16384xf32>, tensor<64xf32>) {
  %0 = hr.launch @large(%x) of ["a"] {hr.called = "a", name = "a", cost = affine_map<() -> (1, 1, 1)>} : (tensor<16384x16384xf32>) -> tensor<16384x16384xf32>
  %1 = hr.launch @sliced(%0) of ["b"] {hr.called = "b", name = "b", hr.slices = array<i64: 16, 0, 1>, cost = affine_map<() -> (1, 1, 1)>} : (tensor<16384x16384xf32>) -> tensor<16384x16384xf32>
  %2 = hr.launch @small(%v) of ["c"] {hr.called = "c", name = "c", cost = affine_map<() -> (1, 1, 1)>} : (tensor<64xf32>) -> tensor<64xf32>
  %3 = hr.launch @computes(%1) of ["d"] {hr.called = "d", name = "d", cost = affine_map<() -> (1073741824, 1073741824, 268435456)>} : (tensor<16384x16384xf32>) -> tensor<16384x16384xf32>
  return %3, %2 : tensor<16384x16384xf32>, tensor<64xf32>
}

// CHECK: module @large attributes {hr.streams = array<i64: 1>}
module @large {}
// CHECK: module @sliced {
module @sliced {}
// CHECK: module @small {
module @small {}
// CHECK: module @computes {
module @computes {
  func.func @computes(%x: memref<16384x16384xf32>, %out: memref<16384x16384xf32>) {
    %t = bufferization.to_tensor %x restrict : memref<16384x16384xf32>
    %e = tensor.empty() : tensor<16384x16384xf32>
    %y = linalg.generic {hr.stage = "map", indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%t : tensor<16384x16384xf32>) outs(%e : tensor<16384x16384xf32>) {
    ^bb0(%a: f32, %o: f32):
      %b = math.exp %a : f32
      %c = math.exp %b : f32
      %d = math.exp %c : f32
      %f = math.exp %d : f32
      linalg.yield %f : f32
    } -> tensor<16384x16384xf32>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<16384x16384xf32>, memref<16384x16384xf32>) -> ()
    return
  }
}
