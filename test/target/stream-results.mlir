// RUN: hr-opt %s --pass-pipeline='builtin.module(stream-results{target=cpu:x86-64-v3})' | FileCheck %s

// 1 GB of results: no cache holds them. What runs slice by slice, or is small, stays in the caches.
func.func @main(%x: tensor<16384x16384xf32>, %v: tensor<64xf32>) -> (tensor<16384x16384xf32>, tensor<64xf32>) {
  %0 = hr.launch @large(%x) of ["a"] {hr.called = "a", name = "a", cost = affine_map<() -> (1, 1, 1)>} : (tensor<16384x16384xf32>) -> tensor<16384x16384xf32>
  %1 = hr.launch @sliced(%0) of ["b"] {hr.called = "b", name = "b", hr.slices = array<i64: 16, 0, 1>, cost = affine_map<() -> (1, 1, 1)>} : (tensor<16384x16384xf32>) -> tensor<16384x16384xf32>
  %2 = hr.launch @small(%v) of ["c"] {hr.called = "c", name = "c", cost = affine_map<() -> (1, 1, 1)>} : (tensor<64xf32>) -> tensor<64xf32>
  return %1, %2 : tensor<16384x16384xf32>, tensor<64xf32>
}

// CHECK: module @large attributes {hr.streams = array<i64: 1>}
module @large {}
// CHECK: module @sliced {
module @sliced {}
// CHECK: module @small {
module @small {}
