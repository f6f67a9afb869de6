// RUN: hr-opt --outline-kernels %s | FileCheck %s

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
// CHECK-NOT: module
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
