// RUN: hr-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(verify-level1))'

// Level 1 holds operators only.
func.func @stray(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is not an operator of level 1}}
  %0 = tensor.empty() : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @operators(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = hr.transpose %x [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
