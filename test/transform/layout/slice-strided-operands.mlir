// RUN: hr-opt --slice-strided-operands %s | FileCheck %s

// Before: row m reads row 2m of the input.
// After: row m of a slice that takes every second row; the vectorizer knows plain reads only.
// CHECK-DAG: #[[READ:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[STEPPED:.*]] = affine_map<(d0) -> (d0 * 3)>
// CHECK-LABEL: func.func @stride
// CHECK: %[[S:.*]] = tensor.extract_slice %arg0[0, 0] [14, 64] [2, 1] : tensor<27x64xf32> to tensor<14x64xf32>
// CHECK: linalg.generic {indexing_maps = [#[[READ]], {{.*}} ins(%[[S]], %arg1
func.func @stride(%in: tensor<27x64xf32>, %w: tensor<64x16xf32>, %out: tensor<14x16xf32>) -> tensor<14x16xf32> {
  %r = linalg.generic {
      indexing_maps = [affine_map<(m, n, c) -> (m * 2, c)>, affine_map<(m, n, c) -> (c, n)>, affine_map<(m, n, c) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%in, %w : tensor<27x64xf32>, tensor<64x16xf32>) outs(%out : tensor<14x16xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<14x16xf32>
  return %r : tensor<14x16xf32>
}

// How many rows there are is not known: nothing to slice by.
// CHECK-LABEL: func.func @unknown
// CHECK-NOT: tensor.extract_slice
// CHECK: linalg.generic {indexing_maps = [#[[STEPPED]]
func.func @unknown(%in: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.generic {
      indexing_maps = [affine_map<(m) -> (m * 3)>, affine_map<(m) -> (m)>], iterator_types = ["parallel"]}
      ins(%in : tensor<?xf32>) outs(%out : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
