// RUN: not hr-opt --pass-pipeline='builtin.module(cuda-write-kernels)' --split-input-file %s 2>&1 | FileCheck %s

// A value in two places would be written to one of them.
// CHECK: error: expected a value to be one result, got it as two
#i = affine_map<(i) -> (i)>
module @twice {
  func.func @twice(%x: memref<1024xf32>, %y: memref<1024xf32>, %z: memref<1024xf32>) {
    %a = bufferization.to_tensor %x restrict : memref<1024xf32>
    %e = tensor.empty() : tensor<1024xf32>
    %r = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%a : tensor<1024xf32>) outs(%e : tensor<1024xf32>)
        attrs = {cuda.schedule = {kind = "points", threads = 256 : i64, vector = 4 : i64}} {
    ^bb0(%in: f32, %out: f32):
      %m = arith.negf %in : f32
      linalg.yield %m : f32
    } -> tensor<1024xf32>
    bufferization.materialize_in_destination %r in restrict writable %y : (tensor<1024xf32>, memref<1024xf32>) -> ()
    bufferization.materialize_in_destination %r in restrict writable %z : (tensor<1024xf32>, memref<1024xf32>) -> ()
    return
  }
}

// -----

// An operation without a schedule is not launched.
// CHECK: error: no launch writes the kernel's operand 1
#i = affine_map<(i) -> (i)>
module @unwritten {
  func.func @unwritten(%x: memref<1024xf32>, %y: memref<1024xf32>, %z: memref<1024xf32>) {
    %a = bufferization.to_tensor %x restrict : memref<1024xf32>
    %e = tensor.empty() : tensor<1024xf32>
    %r = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%a : tensor<1024xf32>) outs(%e : tensor<1024xf32>)
        attrs = {cuda.schedule = {kind = "points", threads = 256 : i64, vector = 4 : i64}} {
    ^bb0(%in: f32, %out: f32):
      %m = arith.negf %in : f32
      linalg.yield %m : f32
    } -> tensor<1024xf32>
    bufferization.materialize_in_destination %a in restrict writable %y : (tensor<1024xf32>, memref<1024xf32>) -> ()
    bufferization.materialize_in_destination %r in restrict writable %z : (tensor<1024xf32>, memref<1024xf32>) -> ()
    return
  }
}
