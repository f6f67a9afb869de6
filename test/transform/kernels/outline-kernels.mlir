// RUN: hr-opt --split-input-file --outline-kernels %s | FileCheck %s

// Before: three kernels in place, of which two have the same body.
// After: two modules with functions over memory, and three launches.
// CHECK: func.func @main
// CHECK: %[[A:.*]] = hr.launch @[[RELU:k_relu]](%arg0) of ["relu"]
// CHECK: %[[B:.*]] = hr.launch @[[RELU]](%[[A]]) of ["relu again"]
// CHECK: hr.launch @[[GROW:.*]](%[[B]]) of ["relu"] {{.*}} : (tensor<?x8xf32, #{{.*}}>) -> tensor<?x8xf32, #{{.*}}>
// CHECK-NOT: hr.kernel
// CHECK: module @[[RELU]]
// CHECK-NEXT: func.func @[[RELU]](%[[IN:.*]]: memref<?x8xf32> {hr.sizes = {{.*}}}, %[[OUT:.*]]: memref<?x8xf32> {hr.sizes = {{.*}}})
// CHECK: %[[X:.*]] = bufferization.to_tensor %[[IN]] restrict
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%[[X]]
// CHECK: bufferization.materialize_in_destination %[[Y]] in restrict writable %[[OUT]]
// CHECK: module @[[GROW]]
// CHECK-NEXT: func.func @[[GROW]](
// CHECK: math.exp
// CHECK-NOT: module @
#rows = affine_map<()[s0] -> (s0, 8)>
#same = affine_map<(r, c) -> (r, c)>
func.func @main(%x: tensor<?x8xf32, #rows>) -> tensor<?x8xf32, #rows> attributes {hr.symbols = ["batch"]} {
  %0 = hr.kernel "relu"(%x) of ["relu"] {cost = affine_map<()[s0] -> (s0, s0, s0)>} : (tensor<?x8xf32, #rows>) -> tensor<?x8xf32, #rows> {
  ^bb0(%a: tensor<?x8xf32>):
    %zero = arith.constant 0.0 : f32
    %n = hr.size affine_map<()[s0] -> (s0)>
    %e = tensor.empty(%n) : tensor<?x8xf32>
    %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %m = arith.maximumf %in, %zero : f32
      linalg.yield %m : f32
    } -> tensor<?x8xf32>
    hr.yield %r : tensor<?x8xf32>
  }
  %1 = hr.kernel "again"(%0) of ["relu again"] {cost = affine_map<()[s0] -> (s0, s0, s0)>} : (tensor<?x8xf32, #rows>) -> tensor<?x8xf32, #rows> {
  ^bb0(%a: tensor<?x8xf32>):
    %zero = arith.constant 0.0 : f32
    %n = hr.size affine_map<()[s0] -> (s0)>
    %e = tensor.empty(%n) : tensor<?x8xf32>
    %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %m = arith.maximumf %in, %zero : f32
      linalg.yield %m : f32
    } -> tensor<?x8xf32>
    hr.yield %r : tensor<?x8xf32>
  }
  // The same name as the first, but another body.
  %2 = hr.kernel "relu"(%1) of ["relu"] {cost = affine_map<()[s0] -> (s0, s0, s0)>} : (tensor<?x8xf32, #rows>) -> tensor<?x8xf32, #rows> {
  ^bb0(%a: tensor<?x8xf32>):
    %n = hr.size affine_map<()[s0] -> (s0)>
    %e = tensor.empty(%n) : tensor<?x8xf32>
    %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %m = math.exp %in : f32
      linalg.yield %m : f32
    } -> tensor<?x8xf32>
    hr.yield %r : tensor<?x8xf32>
  }
  return %2 : tensor<?x8xf32, #rows>
}

// -----

// A value that a kernel yields twice, or stores twice from its loop, is one result.
// CHECK-LABEL: func.func @equal
// CHECK: %[[A:.*]] = hr.launch @k_twice(%arg0)
// CHECK-SAME: -> tensor<8xf32>
// CHECK: %[[B:.*]]:2 = hr.launch @k_blocks(%arg0)
// CHECK-SAME: -> (tensor<8xf32>, tensor<8xf32>)
// CHECK: return %[[A]], %[[A]], %[[B]]#0, %[[B]]#1, %[[B]]#0
// CHECK: func.func @k_twice(%{{.*}}: memref<8xf32>, %{{.*}}: memref<8xf32>) attributes {hr.results = 1 : i64}
// CHECK: func.func @k_blocks({{.*}}) attributes {hr.results = 2 : i64}
func.func @equal(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) attributes {hr.symbols = []} {
  %0:2 = hr.kernel "twice"(%x) of ["a", "b"] {cost = affine_map<() -> (8, 8, 8)>} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    hr.yield %r, %r : tensor<8xf32>, tensor<8xf32>
  }
  %1:3 = hr.kernel "blocks"(%x) of ["a", "b", "c"] {cost = affine_map<() -> (8, 8, 8)>} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %r:3 = scf.forall (%i) in (2) shared_outs(%p = %e, %q = %e, %s = %e) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
      %c4 = arith.constant 4 : index
      %first = arith.muli %i, %c4 : index
      %rows = tensor.extract_slice %a[%first] [4] [1] : tensor<8xf32> to tensor<4xf32>
      %t = tensor.empty() : tensor<4xf32>
      %u = linalg.exp ins(%rows : tensor<4xf32>) outs(%t : tensor<4xf32>) -> tensor<4xf32>
      %v = linalg.tanh ins(%rows : tensor<4xf32>) outs(%t : tensor<4xf32>) -> tensor<4xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %u into %p[%first] [4] [1] : tensor<4xf32> into tensor<8xf32>
        tensor.parallel_insert_slice %v into %q[%first] [4] [1] : tensor<4xf32> into tensor<8xf32>
        tensor.parallel_insert_slice %u into %s[%first] [4] [1] : tensor<4xf32> into tensor<8xf32>
      }
    }
    hr.yield %r#0, %r#1, %r#2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  return %0#0, %0#1, %1#0, %1#1, %1#2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
