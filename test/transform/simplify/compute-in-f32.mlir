// RUN: hr-opt --pass-pipeline='builtin.module(func.func(compute-in-f32))' %s | FileCheck %s
// RUN: hr-opt --pass-pipeline='builtin.module(func.func(compute-in-f32{products=false}))' %s | FileCheck %s --check-prefix=DEVICE
// RUN: hr-opt --pass-pipeline='builtin.module(func.func(compute-in-f32{pairs=true}))' %s | FileCheck %s --check-prefix=PAIRS
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,compute-in-f32,compare-answers))' %s -o /dev/null

// Before: a softmax in half precision.
// After: its operand widened, its result rounded.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[W:.*]] = hr.map(%arg0)
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: %[[S:.*]] = hr.softmax %[[W]] {{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: hr.map(%[[S]])
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @softmax(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %0 = hr.softmax %x {axis = 1 : i64} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  return %0 : tensor<4x8xf16>
}

// The body of a map: widened at its beginning, rounded at its end, and nowhere between. A number
// that was written with more digits keeps them.
// CHECK-LABEL: func.func @body
// CHECK: ^bb0(%[[A:.*]]: bf16):
// CHECK: %[[C:.*]] = arith.constant 1.000000e-01 : f32
// CHECK: %[[W:.*]] = arith.extf %[[A]]
// CHECK: %[[E:.*]] = math.exp %[[W]] : f32
// CHECK: %[[M:.*]] = arith.mulf %[[E]], %[[C]] : f32
// CHECK: %[[N:.*]] = arith.truncf %[[M]] : f32 to bf16
// CHECK: hr.yield %[[N]]
func.func @body(%x: tensor<8xbf16>) -> tensor<8xbf16> {
  %0 = hr.map(%x) : (tensor<8xbf16>) -> tensor<8xbf16> {
  ^bb0(%a: bf16):
    %c = arith.constant 0.1 : f32
    %t = arith.truncf %c : f32 to bf16
    %e = math.exp %a : bf16
    %m = arith.mulf %e, %t : bf16
    hr.yield %m : bf16
  }
  return %0 : tensor<8xbf16>
}

// Operations that never round stay, and so does a conversion that the user wrote.
// CHECK-LABEL: func.func @exact
// CHECK: arith.maximumf {{.*}} : f16
// CHECK-NOT: f32
// CHECK: return
func.func @exact(%x: tensor<8xf16>) -> tensor<8xf16> {
  %0 = hr.map(%x) : (tensor<8xf16>) -> tensor<8xf16> {
  ^bb0(%a: f16):
    %n = arith.negf %a : f16
    %m = arith.maximumf %a, %n : f16
    hr.yield %m : f16
  }
  return %0 : tensor<8xf16>
}

// A norm is one operator of the user's, of three here: the squares reach the sum, and the sum the
// root, as they are.
// CHECK-LABEL: func.func @norm
// CHECK: %[[Q:.*]] = hr.map(%arg0) : (tensor<8xf16>) -> tensor<8xf32>
// CHECK: arith.mulf {{.*}} : f32
// CHECK: %[[S:.*]] = hr.reduce sum %[[Q]] {{.*}} : (tensor<8xf32>) -> tensor<f32>
// CHECK: hr.map(%[[S]]) : (tensor<f32>) -> tensor<f16>
// CHECK: math.sqrt {{.*}} : f32
func.func @norm(%x: tensor<8xf16>) -> tensor<f16> {
  %0 = hr.map(%x) : (tensor<8xf16>) -> tensor<8xf16> {
  ^bb0(%a: f16):
    %s = arith.mulf %a, %a : f16 loc("norm")
    hr.yield %s : f16 loc("norm")
  } loc("norm")
  %1 = hr.reduce sum %0 axes [0] : (tensor<8xf16>) -> tensor<f16> loc("norm")
  %2 = hr.map(%1) : (tensor<f16>) -> tensor<f16> {
  ^bb0(%a: f16):
    %s = math.sqrt %a : f16 loc("norm")
    hr.yield %s : f16 loc("norm")
  } loc("norm")
  return %2 : tensor<f16>
}

// Products: devices keep them narrow for their tensor cores.
// CHECK-LABEL: func.func @product
// CHECK: hr.contract {{.*}} : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
// CHECK: arith.truncf
// DEVICE-LABEL: func.func @product
// DEVICE-NEXT: hr.contract {{.*}} : (tensor<4x8xf16>, tensor<8x2xf16>) -> tensor<4x2xf16>
// DEVICE-NEXT: return
func.func @product(%a: tensor<4x8xf16>, %b: tensor<8x2xf16>) -> tensor<4x2xf16> {
  %0 = hr.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                affine_map<(m, n, k) -> (m, n)>]
       : (tensor<4x8xf16>, tensor<8x2xf16>) -> tensor<4x2xf16>
  return %0 : tensor<4x2xf16>
}

// A CPU that adds pairs of products of bf16 to sums in f32: both factors stay as they are.
// CHECK-LABEL: func.func @pairs
// CHECK: hr.contract {{.*}} : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
// PAIRS-LABEL: func.func @pairs
// PAIRS: hr.contract %arg0, %arg1 {{.*}}accumulator = f32{{.*}} : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xf32>
// PAIRS: arith.truncf
func.func @pairs(%a: tensor<4x8xbf16>, %b: tensor<8x2xbf16>) -> tensor<4x2xbf16> {
  %0 = hr.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
    affine_map<(m, n, k) -> (m, n)>] : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  return %0 : tensor<4x2xbf16>
}

// Not if the terms of a row are not adjacent, nor if there are few of them and one is left over.
// PAIRS-LABEL: func.func @apart
// PAIRS: hr.contract {{.*}} : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
// PAIRS: hr.contract {{.*}} : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
func.func @apart(%a: tensor<8x4xbf16>, %b: tensor<8x2xbf16>, %c: tensor<4x3xbf16>,
                 %d: tensor<3x2xbf16>) -> (tensor<4x2xbf16>, tensor<4x2xbf16>) {
  %0 = hr.contract %a, %b maps [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>,
    affine_map<(m, n, k) -> (m, n)>] : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  %1 = hr.contract %c, %d maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
    affine_map<(m, n, k) -> (m, n)>] : (tensor<4x3xbf16>, tensor<3x2xbf16>) -> tensor<4x2xbf16>
  return %0, %1 : tensor<4x2xbf16>, tensor<4x2xbf16>
}

// Convolutions of many channels, but not of each channel by itself.
// PAIRS-LABEL: func.func @images
// PAIRS: hr.conv {{.*}} : (tensor<1x8x5x5xbf16>, tensor<4x8x3x3xbf16>) -> tensor<1x4x3x3xf32>
// PAIRS: hr.conv {{.*}} : (tensor<1x8x5x5xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x3x3xf32>
func.func @images(%x: tensor<1x8x5x5xbf16>, %w: tensor<4x8x3x3xbf16>, %v: tensor<8x1x3x3xbf16>)
    -> (tensor<1x4x3x3xbf16>, tensor<1x8x3x3xbf16>) {
  %0 = hr.conv channels_first %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x5x5xbf16>, tensor<4x8x3x3xbf16>) -> tensor<1x4x3x3xbf16>
  %1 = hr.conv channels_first %x, %v {dilations = array<i64: 1, 1>, groups = 8 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x5x5xbf16>, tensor<8x1x3x3xbf16>) -> tensor<1x8x3x3xbf16>
  return %0, %1 : tensor<1x4x3x3xbf16>, tensor<1x8x3x3xbf16>
}
