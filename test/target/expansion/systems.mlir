// RUN: hr-opt %s --pass-pipeline='builtin.module(func.func(choose-expansions{prefer=cholesky}))' | FileCheck %s --check-prefix=CHOLESKY
// RUN: hr-opt %s --pass-pipeline='builtin.module(func.func(choose-expansions{prefer=lu}))' | FileCheck %s --check-prefix=LU

// CHOLESKY-DAG: #[[SIZES:.*]] = affine_map<() -> (99, 4, 12, 1)>
// CHOLESKY-LABEL: func @positive
// CHOLESKY: hr.library "openblas.cholesky.f64"(%arg0, %arg1) of ["solve"] {{.*}}parameters = #[[SIZES]]
// LU-LABEL: func @positive
// LU: hr.library "openblas.lu.f64"(%arg0, %arg1)
func.func @positive(%a: tensor<99x4x4x2xf64>, %b: tensor<99x4x12x2xf64>) -> tensor<99x4x12x2xf64> {
  %x = hr.solve %a, %b {complex, positive_definite} : (tensor<99x4x4x2xf64>, tensor<99x4x12x2xf64>) -> tensor<99x4x12x2xf64>
  return %x : tensor<99x4x12x2xf64>
}

// Any matrix has an LU factorization, not any has the other; leading dimensions are one batch.
// CHOLESKY-LABEL: func @any
// CHOLESKY: hr.library "openblas.lu.f32"(%arg0, %arg1)
// LU-LABEL: func @any
// LU: hr.library "openblas.lu.f32"(%arg0, %arg1)
func.func @any(%a: tensor<2x3x5x5xf32>, %b: tensor<2x3x5x1xf32>) -> tensor<2x3x5x1xf32> {
  %x = hr.solve %a, %b : (tensor<2x3x5x5xf32>, tensor<2x3x5x1xf32>) -> tensor<2x3x5x1xf32>
  return %x : tensor<2x3x5x1xf32>
}
