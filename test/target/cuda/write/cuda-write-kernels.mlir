// RUN: hr-opt --pass-pipeline='builtin.module(cuda-attach-schedule,cuda-write-kernels,canonicalize,cse)' --split-input-file %s | FileCheck %s

// The size of a program is a parameter that the launch computes; a thread beyond the last point
// does nothing. Vectors need rows of known size.
// CHECK: #[[GRID:.*]] = affine_map<()[s0] -> ((s0 * 7) ceildiv 256, 1, 1)>
// CHECK-LABEL: module @open
// CHECK-SAME: cuda.index_bits = 64
// CHECK-SAME: cuda.launches = [{function = "open", grid = #[[GRID]], parameters = [{size = #{{.*}}}, {buffer = 0 : i64}, {buffer = 1 : i64}], shared = 0 : i64, threads = 256 : i64}]
// CHECK: gpu.func @open(%[[SIZE:.*]]: i64, %[[X:.*]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}, %[[Y:.*]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias}) kernel
// CHECK: scf.if
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: arith.negf
// CHECK: llvm.store
#ij = affine_map<(i, j) -> (i, j)>
#sizes = affine_map<()[s0] -> (s0, 7)>
module @open {
  func.func @open(%x: memref<?x7xf32> {hr.sizes = #sizes}, %y: memref<?x7xf32> {hr.sizes = #sizes}) {
    %a = bufferization.to_tensor %x restrict : memref<?x7xf32>
    %n = hr.size affine_map<()[s0] -> (s0)>
    %e = tensor.empty(%n) : tensor<?x7xf32>
    %r = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<?x7xf32>) outs(%e : tensor<?x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      %m = arith.negf %in : f32
      linalg.yield %m : f32
    } -> tensor<?x7xf32>
    bufferization.materialize_in_destination %r in restrict writable %y : (tensor<?x7xf32>, memref<?x7xf32>) -> ()
    return
  }
}

// -----

// Two results over the same points are one launch: what both read is read once.
// CHECK-LABEL: module @both
// CHECK: gpu.func @both
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT: llvm.load
// CHECK: llvm.store
// CHECK: llvm.store
// CHECK-NOT: gpu.func
#i = affine_map<(i) -> (i)>
module @both {
  func.func @both(%x: memref<1024xf32>, %y: memref<1024xf32>, %z: memref<1024xf32>) {
    %a = bufferization.to_tensor %x restrict : memref<1024xf32>
    %e = tensor.empty() : tensor<1024xf32>
    %r = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%a : tensor<1024xf32>) outs(%e : tensor<1024xf32>) {
    ^bb0(%in: f32, %out: f32):
      %m = arith.negf %in : f32
      linalg.yield %m : f32
    } -> tensor<1024xf32>
    %s = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel"]} ins(%a, %r : tensor<1024xf32>, tensor<1024xf32>) outs(%e : tensor<1024xf32>) {
    ^bb0(%in: f32, %in2: f32, %out: f32):
      %m = arith.mulf %in, %in2 : f32
      linalg.yield %m : f32
    } -> tensor<1024xf32>
    bufferization.materialize_in_destination %r in restrict writable %y : (tensor<1024xf32>, memref<1024xf32>) -> ()
    bufferization.materialize_in_destination %s in restrict writable %z : (tensor<1024xf32>, memref<1024xf32>) -> ()
    return
  }
}

// -----

// A reduction that is read at every point, and along no row of the result: it is launched before,
// into the workspace.
// CHECK-LABEL: module @apart
// CHECK-SAME: workspace = #{{.*}}
// CHECK: gpu.func @apart_0
// CHECK: gpu.func @apart_1
#ji = affine_map<(i, j) -> (j, i)>
#ij = affine_map<(i, j) -> (i, j)>
#fi = affine_map<(i, j) -> (i)>
#fj = affine_map<(i, j) -> (j)>
module @apart {
  func.func @apart(%x: memref<40x24xf32>, %y: memref<40x24xf32>) {
    %a = bufferization.to_tensor %x restrict : memref<40x24xf32>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<24xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<24xf32>) -> tensor<24xf32>
    %s = linalg.generic {indexing_maps = [#ji, #fi], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<40x24xf32>) outs(%f : tensor<24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %m = arith.addf %out, %in : f32
      linalg.yield %m : f32
    } -> tensor<24xf32>
    %o = tensor.empty() : tensor<40x24xf32>
    %r = linalg.generic {indexing_maps = [#ij, #fj, #ij], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<40x24xf32>, tensor<24xf32>) outs(%o : tensor<40x24xf32>) {
    ^bb0(%in: f32, %in2: f32, %out: f32):
      %m = arith.divf %in, %in2 : f32
      linalg.yield %m : f32
    } -> tensor<40x24xf32>
    bufferization.materialize_in_destination %r in restrict writable %y : (tensor<40x24xf32>, memref<40x24xf32>) -> ()
    return
  }
}
