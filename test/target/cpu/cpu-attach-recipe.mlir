// RUN: hr-opt --pass-pipeline='builtin.module(cpu-attach-recipe)' --split-input-file %s | FileCheck %s

// Before: a kernel, as linalg over tensors.
// After: the kernel as it was, its schedule as an attribute, and the recipe that carries it out.
// CHECK: module @relu attributes {hr.schedule = {family = "elementwise", grid = array<i64: 0>, remainder = array<i64: 4>, vector = 16 : i64}}
// CHECK: func.func @relu
// CHECK: linalg.generic
// CHECK: module @recipe
// CHECK: transform.named_sequence @recipe
// CHECK: transform.structured.match attributes {hr.id = 0 : i64}
// CHECK: transform.structured.tile_using_for %{{.*}} tile_sizes [16]
// CHECK: transform.loop.peel
// CHECK: transform.structured.vectorize_children_and_apply_patterns
#same = affine_map<(d0) -> (d0)>
module @relu {
  func.func @relu(%in: memref<100xf32>, %out: memref<100xf32>) {
    %zero = arith.constant 0.0 : f32
    %x = bufferization.to_tensor %in restrict : memref<100xf32>
    %e = tensor.empty() : tensor<100xf32>
    %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%x : tensor<100xf32>) outs(%e : tensor<100xf32>) attrs = {hr.id = 0 : i64} {
    ^bb0(%a: f32, %b: f32):
      %m = arith.maximumf %a, %zero : f32
      linalg.yield %m : f32
    } -> tensor<100xf32>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<100xf32>, memref<100xf32>) -> ()
    return
  }
}

// -----

// A schedule that is there already is kept, and the recipe follows it.
// CHECK: module @given attributes {hr.schedule = {family = "elementwise", grid = array<i64: 32>, vector = 8 : i64}}
// CHECK: transform.structured.tile_using_forall %{{.*}} tile_sizes [32]
// CHECK: transform.structured.tile_using_for %{{.*}} tile_sizes [8]
#same = affine_map<(d0) -> (d0)>
module @given attributes {hr.schedule = {family = "elementwise", grid = array<i64: 32>, vector = 8 : i64}} {
  func.func @given(%in: memref<64xf32>, %out: memref<64xf32>) {
    %x = bufferization.to_tensor %in restrict : memref<64xf32>
    %e = tensor.empty() : tensor<64xf32>
    %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) attrs = {hr.id = 0 : i64} {
    ^bb0(%a: f32, %b: f32):
      %m = arith.negf %a : f32
      linalg.yield %m : f32
    } -> tensor<64xf32>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<64xf32>, memref<64xf32>) -> ()
    return
  }
}

// -----

// A contraction is tiled for registers; booleans stay plain loops.
// CHECK: module @dense attributes {hr.schedule = {family = "tiles", {{.*}}tile = array<i64: 4, 16, 0>}}
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#res = affine_map<(m, n, k) -> (m, n)>
module @dense {
  func.func @dense(%a: memref<8x24xf32>, %w: memref<24x16xf32>, %out: memref<8x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %0 = bufferization.to_tensor %a restrict : memref<8x24xf32>
    %1 = bufferization.to_tensor %w restrict : memref<24x16xf32>
    %e = tensor.empty() : tensor<8x16xf32>
    %init = linalg.fill {hr.id = 0 : i64} ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
    %p = linalg.generic {indexing_maps = [#lhs, #rhs, #res], iterator_types = ["parallel", "parallel", "reduction"]} ins(%0, %1 : tensor<8x24xf32>, tensor<24x16xf32>) outs(%init : tensor<8x16xf32>) attrs = {hr.id = 1 : i64} {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %m = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %m : f32
      linalg.yield %s : f32
    } -> tensor<8x16xf32>
    bufferization.materialize_in_destination %p in restrict writable %out : (tensor<8x16xf32>, memref<8x16xf32>) -> ()
    return
  }
}

// -----

// CHECK: module @flags attributes {hr.schedule = {family = "loops"
#same = affine_map<(d0) -> (d0)>
module @flags {
  func.func @flags(%in: memref<64xi1>, %out: memref<64xi1>) {
    %x = bufferization.to_tensor %in restrict : memref<64xi1>
    %e = tensor.empty() : tensor<64xi1>
    %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%x : tensor<64xi1>) outs(%e : tensor<64xi1>) attrs = {hr.id = 0 : i64} {
    ^bb0(%a: i1, %b: i1):
      %m = arith.andi %a, %a : i1
      linalg.yield %m : i1
    } -> tensor<64xi1>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<64xi1>, memref<64xi1>) -> ()
    return
  }
}
