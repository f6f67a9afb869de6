// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-share-joins))' --split-input-file %s | FileCheck %s

// Before: rows of a table for all numbers, then joined with others.
// After: cells of some rows; what is picked for one is written where it is joined.
// CHECK-LABEL: func.func @example
// CHECK: scf.forall (%[[I:.*]]) = (0) to (512) step (32) shared_outs(%[[O:.*]] = %{{.*}})
// CHECK: %[[BLOCK:.*]] = tensor.extract_slice %[[O]][%[[I]], 0, 0] [32, 2, 64] [1, 1, 1]
// CHECK: %[[ALL:.*]] = scf.for %[[J:.*]] = %{{.*}} iter_args(%[[SOME:.*]] = %[[BLOCK]])
// CHECK: %[[ROW:.*]] = arith.addi %[[I]], %[[J]]
// CHECK: %[[X:.*]] = tensor.extract_slice %{{.*}}[%[[ROW]], 0, 0] [1, 1, 64] [1, 1, 1]
// CHECK: %[[FIRST:.*]] = tensor.insert_slice %[[X]] into %[[SOME]][%[[J]], 0, 0] [1, 1, 64] [1, 1, 1]
// CHECK: %[[NUMBERS:.*]] = tensor.extract_slice %{{.*}}[%[[ROW]], 0] [1, 1] [1, 1]
// CHECK: %[[ROWS:.*]] = linalg.generic {{.*}} ins(%[[NUMBERS]] : tensor<1x1xi64>)
// CHECK: tensor.insert_slice %[[ROWS]] into %[[FIRST]][%[[J]], 1, 0] [1, 1, 64] [1, 1, 1]
// CHECK: tensor.parallel_insert_slice %[[ALL]] into %[[O]][%[[I]], 0, 0] [32, 2, 64] [1, 1, 1]
// CHECK-NOT: linalg.generic
// CHECK-NOT: linalg.generic
func.func @example(%a: memref<512x1x64xf32>, %n: memref<512x1xi64>, %t: memref<100x64xf32>, %out: memref<512x2x64xf32>) {
  %x = bufferization.to_tensor %a restrict : memref<512x1x64xf32>
  %numbers = bufferization.to_tensor %n restrict : memref<512x1xi64>
  %table = bufferization.to_tensor %t restrict : memref<100x64xf32>
  %e = tensor.empty() : tensor<512x1x64xf32>
  %rows = linalg.generic {hr.stage = "gather", indexing_maps = [affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%numbers : tensor<512x1xi64>) outs(%e : tensor<512x1x64xf32>) {
  ^bb0(%number: i64, %o: f32):
    %row = arith.index_cast %number : i64 to index
    %column = linalg.index 2 : index
    %y = tensor.extract %table[%row, %column] : tensor<100x64xf32>
    linalg.yield %y : f32
  } -> tensor<512x1x64xf32>
  %into = tensor.empty() : tensor<512x2x64xf32>
  %0 = tensor.insert_slice %x into %into[0, 0, 0] [512, 1, 64] [1, 1, 1] : tensor<512x1x64xf32> into tensor<512x2x64xf32>
  %1 = tensor.insert_slice %rows into %0[0, 1, 0] [512, 1, 64] [1, 1, 1] : tensor<512x1x64xf32> into tensor<512x2x64xf32>
  bufferization.materialize_in_destination %1 in restrict writable %out : (tensor<512x2x64xf32>, memref<512x2x64xf32>) -> ()
  return
}

// -----

// Along the first dimension there are no rows to share; a small join is one cell.
// CHECK-LABEL: func.func @first_dimension
// CHECK-NOT: scf.forall
// CHECK-LABEL: func.func @small
// CHECK: scf.forall (%{{.*}}) = (0) to (8) step (8)
func.func @first_dimension(%a: memref<512x64xf32>, %out: memref<1024x64xf32>) {
  %x = bufferization.to_tensor %a restrict : memref<512x64xf32>
  %into = tensor.empty() : tensor<1024x64xf32>
  %0 = tensor.insert_slice %x into %into[0, 0] [512, 64] [1, 1] : tensor<512x64xf32> into tensor<1024x64xf32>
  %1 = tensor.insert_slice %x into %0[512, 0] [512, 64] [1, 1] : tensor<512x64xf32> into tensor<1024x64xf32>
  bufferization.materialize_in_destination %1 in restrict writable %out : (tensor<1024x64xf32>, memref<1024x64xf32>) -> ()
  return
}
func.func @small(%a: memref<8x8xf32>, %out: memref<8x16xf32>) {
  %x = bufferization.to_tensor %a restrict : memref<8x8xf32>
  %into = tensor.empty() : tensor<8x16xf32>
  %0 = tensor.insert_slice %x into %into[0, 0] [8, 8] [1, 1] : tensor<8x8xf32> into tensor<8x16xf32>
  %1 = tensor.insert_slice %x into %0[0, 8] [8, 8] [1, 1] : tensor<8x8xf32> into tensor<8x16xf32>
  bufferization.materialize_in_destination %1 in restrict writable %out : (tensor<8x16xf32>, memref<8x16xf32>) -> ()
  return
}
