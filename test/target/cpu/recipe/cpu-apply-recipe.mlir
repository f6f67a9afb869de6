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
