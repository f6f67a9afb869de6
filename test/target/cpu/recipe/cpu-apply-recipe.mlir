// RUN: hr-opt --pass-pipeline='builtin.module(cpu-apply-recipe)' --split-input-file %s | FileCheck %s

// Before: a kernel over 64 elements and a recipe that cuts it into cells of 32 and vectors of 8.
// After: the loops and vectors of the recipe.
// CHECK-LABEL: module @neg
// CHECK: scf.forall (%{{.*}}) = (0) to (64) step (32)
// CHECK: scf.for
// CHECK: %[[X:.*]] = vector.transfer_read {{.*}} : tensor<64xf32>, vector<8xf32>
// CHECK: %[[Y:.*]] = arith.negf %[[X]] : vector<8xf32>
// CHECK: vector.transfer_write %[[Y]]
// CHECK-NOT: linalg.generic
// CHECK-NOT: hr.recipe_refused
#same = affine_map<(d0) -> (d0)>
module @neg attributes {hr.recipe = "neg: split i by 32 -> i.g i.c\0Aneg: parallel i.g\0Aneg: split i.c by 8\0Aneg: vectorize i.c.i\0A"} {
  func.func @neg(%in: memref<64xf32>, %out: memref<64xf32>) {
    %x = bufferization.to_tensor %in restrict : memref<64xf32>
    %e = tensor.empty() : tensor<64xf32>
    %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) attrs = {hr.stage = "neg", hr.axes = ["i"]} {
    ^bb0(%a: f32, %b: f32):
      %m = arith.negf %a : f32
      linalg.yield %m : f32
    } -> tensor<64xf32>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<64xf32>, memref<64xf32>) -> ()
    return
  }
}

// -----

// A recipe of the compiler's that does not fit leaves the kernel as it was, and the module says why.
// CHECK: module @misfit attributes {hr.recipe = "neg: parallel j", hr.recipe_chosen, hr.recipe_refused = "recipe, line 1, 'neg: parallel j': 'neg' has no axis 'j'; its loops are i"}
// CHECK: linalg.generic
// CHECK-NOT: scf.for
#same = affine_map<(d0) -> (d0)>
module @misfit attributes {hr.recipe = "neg: parallel j", hr.recipe_chosen} {
  func.func @misfit(%in: memref<64xf32>, %out: memref<64xf32>) {
    %x = bufferization.to_tensor %in restrict : memref<64xf32>
    %e = tensor.empty() : tensor<64xf32>
    %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) attrs = {hr.stage = "neg", hr.axes = ["i"]} {
    ^bb0(%a: f32, %b: f32):
      %m = arith.negf %a : f32
      linalg.yield %m : f32
    } -> tensor<64xf32>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<64xf32>, memref<64xf32>) -> ()
    return
  }
}

// -----

// A column is computed in a vector of all its elements, not in one lane after the other.
// CHECK-LABEL: module @column
// CHECK: vector.transfer_read {{.*}} : tensor<16x4xf32>, vector<16x1xf32>
// CHECK: arith.negf %{{.*}} : vector<{{(1x)?}}16xf32>
// CHECK: vector.transfer_write
#along = affine_map<(d0, d1) -> (d0, d1)>
#across = affine_map<(d0, d1) -> (d1, d0)>
module @column attributes {hr.recipe = "neg: parallel i\0Aneg: vectorize j\0A"} {
  func.func @column(%in: memref<16x4xf32>, %out: memref<4x16xf32>) {
    %x = bufferization.to_tensor %in restrict : memref<16x4xf32>
    %e = tensor.empty() : tensor<4x16xf32>
    %y = linalg.generic {indexing_maps = [#across, #along], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x4xf32>) outs(%e : tensor<4x16xf32>) attrs = {hr.stage = "neg", hr.axes = ["i", "j"]} {
    ^bb0(%a: f32, %b: f32):
      %m = arith.negf %a : f32
      linalg.yield %m : f32
    } -> tensor<4x16xf32>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<4x16xf32>, memref<4x16xf32>) -> ()
    return
  }
}

// -----

// Of rows of an open number, what whole tiles leave over is cut into tiles of 4, of 2 and single rows.
// CHECK-LABEL: module @rest
// CHECK: arith.mulf {{.*}} : vector<8x16x1xf32>
// CHECK: arith.mulf {{.*}} : vector<4x16x1xf32>
// CHECK: arith.mulf {{.*}} : vector<2x16x1xf32>
// CHECK: arith.mulf {{.*}} : vector<16x1xf32>
// CHECK-NOT: linalg.generic
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#res = affine_map<(m, n, k) -> (m, n)>
module @rest attributes {hr.recipe = "c: split i by 8 -> i.o i.t\0Ac: reorder i.o k i.t j\0Ac: unroll i.t\0Ac: vectorize j\0A"} {
  func.func @rest(%a: memref<?x24xf32>, %w: memref<24x16xf32>, %out: memref<?x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %first = arith.constant 0 : index
    %0 = bufferization.to_tensor %a restrict : memref<?x24xf32>
    %1 = bufferization.to_tensor %w restrict : memref<24x16xf32>
    %n = tensor.dim %0, %first : tensor<?x24xf32>
    %e = tensor.empty(%n) : tensor<?x16xf32>
    %init = linalg.fill {hr.stage = "c"} ins(%zero : f32) outs(%e : tensor<?x16xf32>) -> tensor<?x16xf32>
    %p = linalg.generic {indexing_maps = [#lhs, #rhs, #res], iterator_types = ["parallel", "parallel", "reduction"]} ins(%0, %1 : tensor<?x24xf32>, tensor<24x16xf32>) outs(%init : tensor<?x16xf32>) attrs = {hr.stage = "c", hr.axes = ["i", "j", "k"]} {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %m = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %m : f32
      linalg.yield %s : f32
    } -> tensor<?x16xf32>
    bufferization.materialize_in_destination %p in restrict writable %out : (tensor<?x16xf32>, memref<?x16xf32>) -> ()
    return
  }
}
