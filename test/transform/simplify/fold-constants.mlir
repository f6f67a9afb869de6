// RUN: hr-opt --fold-constants --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @transpose
// CHECK-NEXT: hr.constant dense<{{\[}}[1.000000e+00, 4.000000e+00], [2.000000e+00, 5.000000e+00], [3.000000e+00, 6.000000e+00]]> : tensor<3x2xf32>
// CHECK-NEXT: return
func.func @transpose() -> tensor<3x2xf32> {
  %c = hr.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %0 = hr.transpose %c [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

// Dimensions that stay neighbours move together: [0, 1, 2] x 2 x 2 -> 2 x 2 x 3.
// CHECK-LABEL: func.func @transpose_joined
// CHECK-NEXT: hr.constant dense<{{\[}}{{\[}}[0, 4, 8], [1, 5, 9]], {{\[}}[2, 6, 10], [3, 7, 11]]]> : tensor<2x2x3xi16>
func.func @transpose_joined() -> tensor<2x2x3xi16> {
  %c = hr.constant dense<[[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], [10, 11]]]> : tensor<3x2x2xi16>
  %0 = hr.transpose %c [1, 2, 0] : (tensor<3x2x2xi16>) -> tensor<2x2x3xi16>
  return %0 : tensor<2x2x3xi16>
}

// -----

// Three loops, none joined, rows copied whole.
// CHECK-LABEL: func.func @transpose_rows
// CHECK-NEXT: hr.constant dense<{{\[}}{{\[}}[0, 1], [4, 5], [8, 9]], {{\[}}[2, 3], [6, 7], [10, 11]]]> : tensor<2x3x2xi64>
func.func @transpose_rows() -> tensor<2x3x2xi64> {
  %c = hr.constant dense<[[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], [10, 11]]]> : tensor<3x2x2xi64>
  %0 = hr.transpose %c [1, 0, 2] : (tensor<3x2x2xi64>) -> tensor<2x3x2xi64>
  return %0 : tensor<2x3x2xi64>
}

// -----

// A chain, in one pass: (1 + 2) * 2, then reshaped.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: hr.constant dense<{{\[}}[6.000000e+00], [8.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT: return
func.func @chain() -> tensor<2x1xf32> {
  %a = hr.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = hr.constant dense<2.0> : tensor<f32>
  %0 = hr.map(%a, %b) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    %t = arith.mulf %s, %q : f32
    hr.yield %t : f32
  }
  %1 = hr.reshape %0 : (tensor<2xf32>) -> tensor<2x1xf32>
  return %1 : tensor<2x1xf32>
}

// -----

// 64 MiB from two floats: cheaper to compute; from one, too, because a constant may become a buffer.
// CHECK-LABEL: func.func @growth
// CHECK: hr.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK-NEXT: hr.broadcast
// CHECK-NEXT: hr.constant dense<3.000000e+00> : tensor<2xf32>
// CHECK-NEXT: hr.broadcast
func.func @growth() -> (tensor<8388608x2xf32>, tensor<8388608x2xf32>) {
  %a = hr.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = hr.broadcast %a : (tensor<2xf32>) -> tensor<8388608x2xf32>
  %b = hr.constant dense<3.0> : tensor<2xf32>
  %1 = hr.broadcast %b : (tensor<2xf32>) -> tensor<8388608x2xf32>
  return %0, %1 : tensor<8388608x2xf32>, tensor<8388608x2xf32>
}

// -----

// A sum over a number that is repeated 2^29 times needs all of them written out.
// CHECK-LABEL: func.func @large_operand
// CHECK: hr.reduce
func.func @large_operand() -> tensor<f32> {
  %a = hr.constant dense<1.0> : tensor<536870912xf32>
  %0 = hr.reduce sum %a axes [0] {keep_dims = false} : (tensor<536870912xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// A repeated element stays one element.
// CHECK-LABEL: func.func @repeated
// CHECK: hr.constant dense<3.000000e+00> : tensor<1024x2xf32>
func.func @repeated() -> tensor<1024x2xf32> {
  %b = hr.constant dense<3.0> : tensor<2xf32>
  %1 = hr.broadcast %b : (tensor<2xf32>) -> tensor<1024x2xf32>
  return %1 : tensor<1024x2xf32>
}

// -----

// Sizes that are not known yet are not evaluated.
// CHECK-LABEL: func.func @symbols
// CHECK: hr.map
// CHECK: hr.slice
func.func @symbols() -> (tensor<2xi64>, tensor<1xf32>) {
  %a = hr.constant dense<[1, 2]> : tensor<2xi64>
  %0 = hr.map(%a) : (tensor<2xi64>) -> tensor<2xi64> {
  ^bb0(%p: i64):
    %s = hr.size affine_map<()[s0] -> (s0)>
    %i = arith.index_cast %s : index to i64
    %t = arith.addi %p, %i : i64
    hr.yield %t : i64
  }
  %b = hr.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = hr.slice %b from affine_map<()[s0] -> (s0)> steps [1] : (tensor<2xf32>) -> tensor<1xf32>
  return %0, %1 : tensor<2xi64>, tensor<1xf32>
}

// -----

// A constant held outside the IR: reshaped in place, transposed by a copy.
// CHECK-LABEL: func.func @resource
// CHECK-DAG: hr.constant dense_resource<weights> : tensor<3x1x2xi16>
// CHECK-DAG: hr.constant dense<{{\[}}[1, 3, 5], [2, 4, 6]]> : tensor<2x3xi16>
// CHECK: return
func.func @resource() -> (tensor<3x1x2xi16>, tensor<2x3xi16>) {
  %c = hr.constant dense_resource<weights> : tensor<3x2xi16>
  %0 = hr.reshape %c : (tensor<3x2xi16>) -> tensor<3x1x2xi16>
  %1 = hr.transpose %c [1, 0] : (tensor<3x2xi16>) -> tensor<2x3xi16>
  return %0, %1 : tensor<3x1x2xi16>, tensor<2x3xi16>
}
{-#
  dialect_resources: {
    builtin: {
      weights: "0x02000000010002000300040005000600"
    }
  }
#-}
