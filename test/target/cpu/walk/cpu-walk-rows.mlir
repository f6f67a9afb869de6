// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-walk-rows{rows=2 vector-bytes=32}),canonicalize,cse)' %s | FileCheck %s

#matrix = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
#column = affine_map<(r, c) -> (c)>

// Before: X v for a block of rows, then t(X) times that, a partial result per block.
// After: two rows at a time; the products' accumulators are vectors carried over the columns, the
// partial result is updated by both rows at once; a row left over goes alone.
// CHECK-LABEL: func.func @row_chain
// CHECK: scf.forall (%[[B:.*]]) in (4) {
// CHECK: scf.for {{.*}} step %c2
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<4xf64>, vector<4xf64>)
// CHECK: vector.load %arg0{{.*}} vector<4xf64>
// CHECK: vector.reduction <add>
// CHECK: vector.load %arg2[%[[B]], {{.*}} vector<4xf64>
// CHECK: vector.store {{.*}}, %arg2[%[[B]],
// The last two of ten columns.
// CHECK: vector.store {{.*}} vector<2xf64>
// CHECK: scf.for {{.*}} step %c1
// CHECK-NOT: tensor
func.func @row_chain(%x: memref<100x10xf64>, %v: memref<10xf64>, %out: memref<4x10xf64>) {
  %zero = arith.constant 0.0 : f64
  %per = arith.constant 32 : index
  %all = arith.constant 100 : index
  %X = bufferization.to_tensor %x restrict : memref<100x10xf64>
  %V = bufferization.to_tensor %v restrict : memref<10xf64>
  %init = tensor.empty() : tensor<4x10xf64>
  %r = scf.forall (%b) in (4) shared_outs(%o = %init) -> (tensor<4x10xf64>) {
    %first = arith.muli %b, %per : index
    %left = arith.subi %all, %first : index
    %count = arith.minsi %per, %left : index
    %rows = tensor.extract_slice %X[%first, 0] [%count, 10] [1, 1] : tensor<100x10xf64> to tensor<?x10xf64>
    %e0 = tensor.empty(%count) : tensor<?xf64>
    %f0 = linalg.fill ins(%zero : f64) outs(%e0 : tensor<?xf64>) -> tensor<?xf64>
    %q = linalg.generic {indexing_maps = [#matrix, #column, #row], iterator_types = ["parallel", "reduction"]}
        ins(%rows, %V : tensor<?x10xf64>, tensor<10xf64>) outs(%f0 : tensor<?xf64>) {
    ^bb0(%a: f64, %w: f64, %acc: f64):
      %m = arith.mulf %a, %w : f64
      %s = arith.addf %acc, %m : f64
      linalg.yield %s : f64
    } -> tensor<?xf64>
    %e1 = tensor.empty() : tensor<10xf64>
    %f1 = linalg.fill ins(%zero : f64) outs(%e1 : tensor<10xf64>) -> tensor<10xf64>
    %p = linalg.generic {indexing_maps = [#matrix, #row, #column], iterator_types = ["reduction", "parallel"]}
        ins(%rows, %q : tensor<?x10xf64>, tensor<?xf64>) outs(%f1 : tensor<10xf64>) {
    ^bb0(%a: f64, %w: f64, %acc: f64):
      %m = arith.mulf %a, %w : f64
      %s = arith.addf %acc, %m : f64
      linalg.yield %s : f64
    } -> tensor<10xf64>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %p into %o[%b, 0] [1, 10] [1, 1] : tensor<10xf64> into tensor<4x10xf64>
    }
  }
  bufferization.materialize_in_destination %r in restrict writable %out : (tensor<4x10xf64>, memref<4x10xf64>) -> ()
  return
}
