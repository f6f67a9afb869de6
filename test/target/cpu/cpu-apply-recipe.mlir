// RUN: hr-opt --pass-pipeline='builtin.module(cpu-apply-recipe)' --split-input-file %s | FileCheck %s

// Before: a kernel over 64 elements and a recipe that cuts it into cells of 32 and vectors of 8.
// After: the loops and vectors of the recipe, which is gone.
// CHECK-LABEL: module @neg
// CHECK: scf.forall (%{{.*}}) in (2)
// CHECK: scf.for
// CHECK: %[[X:.*]] = vector.transfer_read {{.*}} : tensor<64xf32>, vector<8xf32>
// CHECK: %[[Y:.*]] = arith.negf %[[X]] : vector<8xf32>
// CHECK: vector.transfer_write %[[Y]]
// CHECK-NOT: linalg.generic
// CHECK-NOT: transform
// CHECK-NOT: hr.recipe_refused
#same = affine_map<(d0) -> (d0)>
module @neg {
  func.func @neg(%in: memref<64xf32>, %out: memref<64xf32>) {
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
  module @recipe attributes {transform.with_named_sequence} {
    transform.named_sequence @recipe(%kernel: !transform.any_op {transform.readonly}) {
      %0 = transform.structured.match attributes {hr.id = 0 : i64} in %kernel : (!transform.any_op) -> !transform.any_op
      %1, %2 = transform.structured.tile_using_forall %0 tile_sizes [32] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
      %3, %4 = transform.structured.tile_using_for %1 tile_sizes [8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
      %5 = transform.structured.match ops{["func.func"]} in %kernel : (!transform.any_op) -> !transform.any_op
      %6 = transform.structured.vectorize_children_and_apply_patterns %5 : (!transform.any_op) -> !transform.any_op
      transform.yield
    }
  }
}

// -----

// A recipe that does not fit leaves the kernel as it was, and the module says why.
// CHECK: module @misfit attributes {hr.recipe_refused = "{{.+}}"}
// CHECK: linalg.generic
// CHECK-NOT: scf.for
#same = affine_map<(d0) -> (d0)>
module @misfit {
  func.func @misfit(%in: memref<64xf32>, %out: memref<64xf32>) {
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
  module @recipe attributes {transform.with_named_sequence} {
    transform.named_sequence @recipe(%kernel: !transform.any_op {transform.readonly}) {
      %0 = transform.structured.match attributes {hr.id = 0 : i64} in %kernel : (!transform.any_op) -> !transform.any_op
      %1, %2:3 = transform.structured.tile_using_for %0 tile_sizes [8, 4, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
      transform.yield
    }
  }
}
