// RUN: hr-opt --split-input-file --keep-answers %s | FileCheck %s
// RUN: not hr-opt --split-input-file --compare-answers %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG

// The results for numbers that the pass makes, which a later pass must not change.
// CHECK-LABEL: func.func @sum
// CHECK-SAME: hr.answers = [dense<-8.125000e-01> : tensor<f64>]
// WRONG: error: result 0: element 0: expected 7.000000, got -0.812500
func.func @sum(%x: tensor<3xf32>) -> tensor<f32> attributes {hr.answers = [dense<7.0> : tensor<f64>]} {
  %s = hr.reduce sum %x axes [0] : (tensor<3xf32>) -> tensor<f32>
  return %s : tensor<f32>
}

// -----

// Kernels are evaluated, too.
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: hr.answers = [dense<[0, 2]> : tensor<2xi64>]
// WRONG: error: result 0: integers differ
func.func @kernel(%x: tensor<2xi32>) -> tensor<2xi32> attributes {hr.answers = [dense<[5, 5]> : tensor<2xi64>]} {
  %y = hr.kernel "map"(%x) of ["map"] {cost = affine_map<() -> (0, 0, 0)>} : (tensor<2xi32>) -> tensor<2xi32> {
  ^bb0(%a: tensor<2xi32>):
    %e = tensor.empty() : tensor<2xi32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
        ins(%a : tensor<2xi32>) outs(%e : tensor<2xi32>) {
    ^bb0(%in: i32, %out: i32):
      %i = linalg.index 0 : index
      %n = arith.index_cast %i : index to i32
      %s = arith.addi %in, %n : i32
      linalg.yield %s : i32
    } -> tensor<2xi32>
    hr.yield %r : tensor<2xi32>
  }
  return %y : tensor<2xi32>
}
