// RUN: hr-opt --expand-operators --mlir-print-debuginfo --mlir-print-local-scope %s | FileCheck %s
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,expand-operators,compare-answers))' %s -o /dev/null

// CHECK-LABEL: func.func @softmax
// CHECK: %[[MAX:.*]] = hr.reduce max %{{.*}} axes [1] {keep_dims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32> loc("head")
// CHECK: %[[EXP:.*]] = hr.map(%{{.*}}, %[[MAX]])
// CHECK: math.exp
// CHECK: %[[SUM:.*]] = hr.reduce sum %[[EXP]] axes [1] {keep_dims = true}
// CHECK: %[[SCALE:.*]] = hr.map(%[[SUM]])
// CHECK: arith.divf
// CHECK: hr.map(%[[EXP]], %[[SCALE]])
// CHECK: arith.mulf
// CHECK: } loc("head")
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = hr.softmax %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("head")
  return %0 : tensor<4x8xf32>
}

// The means that a normalization is written with are split in turn.
// CHECK-LABEL: func.func @layer_norm
// CHECK-NOT: mean
// CHECK-NOT: hr.layer_norm
// CHECK-COUNT-2: hr.reduce sum
// CHECK-NOT: hr.reduce
// CHECK: return
func.func @layer_norm(%x: tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>, %scale: tensor<8xf32>, %bias: tensor<8xf32>)
    -> tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>> {
  %0 = hr.layer_norm %x, %scale, %bias {axis = 1 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>
  return %0 : tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>
}

// CHECK-LABEL: func.func @batch_norm
// CHECK: hr.reshape %{{.*}} : (tensor<3xf32>) -> tensor<3x1x1xf32>
// CHECK: hr.map(
// CHECK-NOT: hr.batch_norm
// CHECK: return
func.func @batch_norm(%x: tensor<1x3x4x4xf32>, %p: tensor<3xf32>) -> tensor<1x3x4x4xf32> {
  %0 = hr.batch_norm channels_first %x, %p, %p, %p, %p {epsilon = 1.0e-5 : f64}
      : (tensor<1x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32>
  return %0 : tensor<1x3x4x4xf32>
}

// A mean over a symbolic size divides by that size.
// CHECK-LABEL: func.func @mean
// CHECK: %[[SUM:.*]] = hr.reduce sum
// CHECK: hr.map(%[[SUM]])
// CHECK: hr.size affine_map<()[s0] -> (s0)>
// CHECK: arith.divf
func.func @mean(%x: tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>) -> tensor<8xf32> {
  %0 = hr.reduce mean %x axes [0] : (tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A mean of bytes is summed in 64 bits.
// CHECK-LABEL: func.func @integer_mean
// CHECK: %[[W:.*]] = hr.map(%{{.*}}) : (tensor<4x8xi8>) -> tensor<4x8xi64>
// CHECK: hr.reduce sum %[[W]] axes [1]
// CHECK: arith.divsi
// CHECK: arith.trunci %{{.*}} : i64 to i8
func.func @integer_mean(%x: tensor<4x8xi8>) -> tensor<4xi8> {
  %0 = hr.reduce mean %x axes [1] : (tensor<4x8xi8>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}

// The order of unsigned numbers is that of signed ones with the other highest bit.
// CHECK-LABEL: func @largest_unsigned
// CHECK: %[[S:.*]] = hr.map(%arg0) : (tensor<4x8xui8>) -> tensor<4x8xi8>
// CHECK: arith.xori %{{.*}}, %c-128_i8
// CHECK: %[[M:.*]] = hr.reduce max %[[S]] axes [1]
// CHECK: hr.map(%[[M]]) : (tensor<4xi8>) -> tensor<4xui8>
func.func @largest_unsigned(%x: tensor<4x8xui8>) -> tensor<4xui8> {
  %0 = hr.reduce max %x axes [1] : (tensor<4x8xui8>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}
