// RUN: hr-opt --pass-pipeline='builtin.module(cpu-bufferize)' %s | FileCheck %s

// Before: values; the destination is known at the end.
// After: memory; cells write where the result belongs, with no allocation and no copy.
// CHECK-LABEL: func.func @cells
// CHECK: scf.forall (%[[I:.*]]) in (8)
// CHECK: %[[V:.*]] = vector.transfer_read %arg0[%[[I]], %c0]
// CHECK: vector.transfer_write %{{.*}}, %{{.*}} : vector<16xf32>, memref<
// CHECK-NOT: memref.alloc
// CHECK-NOT: linalg.copy
// CHECK-NOT: tensor
// CHECK: return
func.func @cells(%in: memref<8x16xf32>, %out: memref<8x16xf32>) {
  %pad = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %x = bufferization.to_tensor %in restrict : memref<8x16xf32>
  %e = tensor.empty() : tensor<8x16xf32>
  %y = scf.forall (%i) in (8) shared_outs(%o = %e) -> (tensor<8x16xf32>) {
    %row = tensor.extract_slice %o[%i, 0] [1, 16] [1, 1] : tensor<8x16xf32> to tensor<1x16xf32>
    %0 = vector.transfer_read %x[%i, %c0], %pad {in_bounds = [true]} : tensor<8x16xf32>, vector<16xf32>
    %1 = arith.negf %0 : vector<16xf32>
    %2 = vector.transfer_write %1, %row[%c0, %c0] {in_bounds = [true]} : vector<16xf32>, tensor<1x16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %2 into %o[%i, 0] [1, 16] [1, 1] : tensor<1x16xf32> into tensor<8x16xf32>
    }
  }
  bufferization.materialize_in_destination %y in restrict writable %out : (tensor<8x16xf32>, memref<8x16xf32>) -> ()
  return
}

// Padding fills its destination and copies the inside, in place.
// CHECK-LABEL: func.func @pad
// CHECK: linalg.{{fill|map|generic}}
// CHECK: %[[INSIDE:.*]] = memref.subview %arg1[1, 2] [3, 5] [1, 1]
// CHECK: linalg.copy ins(%arg0 : memref<3x5xf32>) outs(%[[INSIDE]]
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @pad(%in: memref<3x5xf32>, %out: memref<5x9xf32>) {
  %value = arith.constant 0.5 : f32
  %x = bufferization.to_tensor %in restrict : memref<3x5xf32>
  %y = tensor.pad %x low[1, 2] high[1, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %value : f32
  } : tensor<3x5xf32> to tensor<5x9xf32>
  bufferization.materialize_in_destination %y in restrict writable %out : (tensor<5x9xf32>, memref<5x9xf32>) -> ()
  return
}

// Two results that start from the same empty tensor are two buffers: nothing is copied between
// them.
// CHECK-LABEL: func.func @two_results
// CHECK: scf.forall
// CHECK: linalg.generic {{.*}} ins(%{{.*}}) outs(%[[FIRST:.*]] : memref<?xi64
// CHECK: linalg.generic {{.*}} outs(%[[SECOND:.*]] : memref<?xi64
// CHECK-NOT: memref.alloc
// CHECK-NOT: linalg.copy
// CHECK: return
#id = affine_map<(d0) -> (d0)>
func.func @two_results(%in: memref<288xi64>, %p: memref<288xi64>, %y: memref<288xi64>) {
  %zero = arith.constant 0 : i64
  %c16 = arith.constant 16 : index
  %x = bufferization.to_tensor %in restrict : memref<288xi64>
  %e = tensor.empty() : tensor<288xi64>
  %r:2 = scf.forall (%i) in (18) shared_outs(%o = %e, %q = %e) -> (tensor<288xi64>, tensor<288xi64>) {
    %first = arith.muli %i, %c16 : index
    %rows = tensor.extract_slice %x[%first] [%c16] [1] : tensor<288xi64> to tensor<?xi64>
    %t = tensor.empty(%c16) : tensor<?xi64>
    %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%rows : tensor<?xi64>) outs(%t : tensor<?xi64>) {
    ^bb0(%v: i64, %out: i64):
      %n = arith.subi %zero, %v : i64
      linalg.yield %n : i64
    } -> tensor<?xi64>
    %b = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%t : tensor<?xi64>) {
    ^bb0(%out: i64):
      linalg.yield %zero : i64
    } -> tensor<?xi64>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %a into %o[%first] [%c16] [1] : tensor<?xi64> into tensor<288xi64>
      tensor.parallel_insert_slice %b into %q[%first] [%c16] [1] : tensor<?xi64> into tensor<288xi64>
    }
  }
  bufferization.materialize_in_destination %r#0 in restrict writable %p : (tensor<288xi64>, memref<288xi64>) -> ()
  bufferization.materialize_in_destination %r#1 in restrict writable %y : (tensor<288xi64>, memref<288xi64>) -> ()
  return
}

// Two sums that start from the same zeros fill two buffers.
// CHECK-LABEL: func.func @two_sums
// CHECK-DAG: linalg.fill {{.*}} outs(%arg1
// CHECK-DAG: linalg.fill {{.*}} outs(%arg2
// CHECK-NOT: memref.alloc
// CHECK-NOT: linalg.copy
// CHECK: return
#rows = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
func.func @two_sums(%in: memref<4x9xf32>, %p: memref<4xf32>, %q: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %x = bufferization.to_tensor %in restrict : memref<4x9xf32>
  %e = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x9xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%v: f32, %out: f32):
    %s = arith.addf %v, %out : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %b = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x9xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%v: f32, %out: f32):
    %s = arith.subf %out, %v : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  bufferization.materialize_in_destination %a in restrict writable %p : (tensor<4xf32>, memref<4xf32>) -> ()
  bufferization.materialize_in_destination %b in restrict writable %q : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// A value that is inserted into the empty tensor it was computed in is not its own operand.
// CHECK-LABEL: func.func @inserted_into_itself
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : memref<1x?xf32
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @inserted_into_itself(%in: memref<1x?xf32>, %n: index, %out: memref<1x?xf32>) {
  %x = bufferization.to_tensor %in restrict : memref<1x?xf32>
  %e = tensor.empty(%n) : tensor<1x?xf32>
  %a = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<1x?xf32>) outs(%e : tensor<1x?xf32>) {
  ^bb0(%v: f32, %o: f32):
    %s = arith.negf %v : f32
    linalg.yield %s : f32
  } -> tensor<1x?xf32>
  %y = tensor.insert_slice %a into %e[0, 0] [1, %n] [1, 1] : tensor<1x?xf32> into tensor<1x?xf32>
  bufferization.materialize_in_destination %y in restrict writable %out : (tensor<1x?xf32>, memref<1x?xf32>) -> ()
  return
}

// A view drops dimensions without steps, and takes steps without dropping dimensions.
// CHECK-LABEL: func.func @steps
// CHECK: %[[WHOLE:.*]] = memref.subview %arg0[4, 0, 0, %arg1] [1, 3, 1, 1] [1, 1, 3, 1]
// CHECK-SAME: to memref<1x3x1x1xf64
// CHECK: memref.subview %[[WHOLE]][0, 0, 0, 0] [1, 3, 1, 1] [1, 1, 1, 1]
// CHECK-SAME: to memref<3x1xf64
func.func @steps(%in: memref<5x3x3x3xf64>, %i: index, %out: memref<3x1xf64>) {
  %x = bufferization.to_tensor %in restrict : memref<5x3x3x3xf64>
  %y = tensor.extract_slice %x[4, 0, 0, %i] [1, 3, 1, 1] [1, 1, 3, 1] : tensor<5x3x3x3xf64> to tensor<3x1xf64>
  bufferization.materialize_in_destination %y in restrict writable %out : (tensor<3x1xf64>, memref<3x1xf64>) -> ()
  return
}

// Padding around what the grid computes: each side is filled once, and cells write the middle.
// CHECK-LABEL: func.func @border
// CHECK: %[[TOP:.*]] = memref.subview %arg1[0, 0] [1, 9]
// CHECK: linalg.fill {hr.border} {{.*}} outs(%[[TOP]]
// CHECK: %[[BOTTOM:.*]] = memref.subview %arg1[4, 0] [1, 9]
// CHECK: linalg.fill {hr.border} {{.*}} outs(%[[BOTTOM]]
// CHECK: %[[LEFT:.*]] = memref.subview %arg1[1, 0] [3, 2]
// CHECK: linalg.fill {hr.border} {{.*}} outs(%[[LEFT]]
// CHECK: %[[RIGHT:.*]] = memref.subview %arg1[1, 7] [3, 2]
// CHECK: linalg.fill {hr.border} {{.*}} outs(%[[RIGHT]]
// CHECK: %[[INSIDE:.*]] = memref.subview %arg1[1, 2] [3, 5]
// CHECK: scf.forall
// CHECK: memref.subview %[[INSIDE]]
// CHECK-NOT: memref.alloc
// CHECK-NOT: linalg.copy
// CHECK: return
func.func @border(%in: memref<3x5xf32>, %out: memref<5x9xf32>) {
  %value = arith.constant 0.5 : f32
  %c0 = arith.constant 0 : index
  %x = bufferization.to_tensor %in restrict : memref<3x5xf32>
  %e = tensor.empty() : tensor<3x5xf32>
  %y = scf.forall (%i) in (3) shared_outs(%o = %e) -> (tensor<3x5xf32>) {
    %row = tensor.extract_slice %o[%i, 0] [1, 5] [1, 1] : tensor<3x5xf32> to tensor<1x5xf32>
    %0 = vector.transfer_read %x[%i, %c0], %value {in_bounds = [true]} : tensor<3x5xf32>, vector<5xf32>
    %1 = vector.transfer_write %0, %row[%c0, %c0] {in_bounds = [true]} : vector<5xf32>, tensor<1x5xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %1 into %o[%i, 0] [1, 5] [1, 1] : tensor<1x5xf32> into tensor<3x5xf32>
    }
  }
  %p = tensor.pad %y low[1, 2] high[1, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %value : f32
  } : tensor<3x5xf32> to tensor<5x9xf32>
  bufferization.materialize_in_destination %p in restrict writable %out : (tensor<5x9xf32>, memref<5x9xf32>) -> ()
  return
}
