// RUN: hr-opt --cuda-sum-in-single --split-input-file %s | FileCheck %s

// Before: a product of bf16 whose sum is bf16.
// After: the operands are what they were, the sum is f32, and rounded by an operation of its own.
// CHECK-LABEL: func.func @product
// CHECK: %[[ZERO:.*]] = linalg.fill ins(%{{.*}} : f32)
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<4x8xbf16>, tensor<8x2xbf16>) outs(%[[ZERO]] : tensor<4x2xf32>)
// CHECK: %[[A:.*]] = arith.extf
// CHECK: %[[B:.*]] = arith.extf
// CHECK: arith.mulf %[[A]], %[[B]] : f32
// CHECK: arith.addf {{.*}} : f32
// CHECK: linalg.generic {{.*}} ins(%[[SUM]] : tensor<4x2xf32>)
// CHECK: arith.truncf {{.*}} : f32 to bf16
func.func @product(%a: tensor<4x8xbf16>, %b: tensor<8x2xbf16>) -> tensor<4x2xbf16> {
  %zero = arith.constant 0.0 : bf16
  %empty = tensor.empty() : tensor<4x2xbf16>
  %start = linalg.fill ins(%zero : bf16) outs(%empty : tensor<4x2xbf16>) -> tensor<4x2xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
       ins(%a, %b : tensor<4x8xbf16>, tensor<8x2xbf16>) outs(%start : tensor<4x2xbf16>) {
  ^bb0(%x: bf16, %y: bf16, %sum: bf16):
    %p = arith.mulf %x, %y : bf16
    %s = arith.addf %sum, %p : bf16
    linalg.yield %s : bf16
  } -> tensor<4x2xbf16>
  return %c : tensor<4x2xbf16>
}

// -----

// Tensor cores add up in single whatever the type of the result.
// CHECK-LABEL: func.func @tensor_cores
// CHECK-NOT: arith.extf
// CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<64x32xbf16>)
// CHECK-NOT: arith.truncf
func.func @tensor_cores(%x: memref<64x128xbf16>, %y: memref<128x32xbf16>) -> tensor<64x32xbf16> {
  %a = bufferization.to_tensor %x restrict : memref<64x128xbf16>
  %b = bufferization.to_tensor %y restrict : memref<128x32xbf16>
  %zero = arith.constant 0.0 : bf16
  %empty = tensor.empty() : tensor<64x32xbf16>
  %start = linalg.fill ins(%zero : bf16) outs(%empty : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %c = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
       ins(%a, %b : tensor<64x128xbf16>, tensor<128x32xbf16>) outs(%start : tensor<64x32xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %sum: bf16):
    %m = arith.mulf %p, %q : bf16
    %s = arith.addf %sum, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<64x32xbf16>
  return %c : tensor<64x32xbf16>
}
