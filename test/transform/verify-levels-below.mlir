// RUN: not hr-opt %s --pass-pipeline='builtin.module(func.func(verify-level2))' 2>&1 | FileCheck %s --check-prefix=LEVEL2
// RUN: not hr-opt %s --pass-pipeline='builtin.module(func.func(verify-level3))' 2>&1 | FileCheck %s --check-prefix=LEVEL3

// An operator that became no kernel breaks level 2's promise; a tensor breaks level 3's.
// LEVEL2: error: became no kernel
// LEVEL3: error: expected buffers and plain loops at the end of level 3
func.func @left_over(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = hr.transpose %x [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
