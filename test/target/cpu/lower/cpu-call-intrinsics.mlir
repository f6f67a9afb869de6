// RUN: hr-opt --pass-pipeline='builtin.module(cpu-call-intrinsics)' %s | FileCheck %s

// An intrinsic that has no function, as here where none is declared, stays what it is.
// CHECK: linalg.generic
// CHECK-SAME: hr.intrinsic = "double4"
#same = affine_map<(d0) -> (d0)>
func.func @k(%x: memref<4xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) attrs = {hr.intrinsic = "double4", hr.intrinsic_dims = [0]} {
  ^bb0(%a: f32, %b: f32):
    %m = arith.addf %a, %a : f32
    linalg.yield %m : f32
  }
  return
}
