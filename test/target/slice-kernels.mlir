// RUN: hr-opt %s --pass-pipeline='builtin.module(slice-kernels{target=cpu:x86-64-v3})' | FileCheck %s

// 64 MB of results between two kernels that read little else: a few rows at a time stay in cache.
// What the third needs as a whole ends the run.
// CHECK-LABEL: func @main
// CHECK-SAME: hr.choices = ["slice first by {{[0-9]+}}", "slice second by {{[0-9]+}}"]
func.func @main(%x: tensor<1024x64x256xf32>, %w: tensor<1024xf32>) -> tensor<1024x64x256xf32> {
  // CHECK: hr.launch @scale(%arg0, %arg1) {{.*}}hr.slices = array<i64: [[K:[0-9]+]], 0, 2>
  %0 = hr.launch @scale(%x, %w) of ["first"] {hr.called = "first", name = "first", cost = affine_map<() -> (67108864, 67108864, 16777216)>} : (tensor<1024x64x256xf32>, tensor<1024xf32>) -> tensor<1024x64x256xf32>
  // CHECK: hr.launch @scale(%0, %arg1) {{.*}}hr.slices = array<i64: [[K]], 0, 2>
  %1 = hr.launch @scale(%0, %w) of ["second"] {hr.called = "second", name = "second", cost = affine_map<() -> (67108864, 67108864, 16777216)>} : (tensor<1024x64x256xf32>, tensor<1024xf32>) -> tensor<1024x64x256xf32>
  // CHECK: hr.launch @whole
  // CHECK-NOT: hr.slices
  // CHECK: return
  %2 = hr.launch @whole(%1) of ["third"] {hr.called = "third", name = "third", cost = affine_map<() -> (67108864, 67108864, 16777216)>} : (tensor<1024x64x256xf32>) -> tensor<1024x64x256xf32>
  return %2 : tensor<1024x64x256xf32>
}

module @scale attributes {hr.slices = array<i64: 1024, 0, 2>} {}
module @whole {}
