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
