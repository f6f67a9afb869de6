// RUN: hr-opt %s --pass-pipeline='builtin.module(func.func(choose-expansions{prefer=generated}))' | FileCheck %s --check-prefix=GENERATED
// RUN: hr-opt %s --pass-pipeline='builtin.module(func.func(choose-expansions{prefer=cublas target=cuda:sm_90a}))' | FileCheck %s --check-prefix=DEVICE
// RUN: hr-opt %s --pass-pipeline='builtin.module(func.func(choose-expansions{prefer=cudnn target=cuda:sm_90a}))' | FileCheck %s --check-prefix=CONVOLUTION

// RUN: hr-opt %s --pass-pipeline='builtin.module(func.func(choose-expansions{prefer=int8}))' | FileCheck %s --check-prefix=BYTES

// On a device the libraries are others, and generated code reads operands in any order.
// DEVICE-LABEL: func @transposed
// DEVICE: hr.library "cublas.gemm"(%arg0, %arg1)

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// Generated code reads its second operand along the result's last dimension.
// GENERATED-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// GENERATED-DAG: #[[COLUMNS:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// GENERATED-LABEL: func @transposed
// GENERATED: %[[T:.*]] = hr.transpose %arg1 [1, 0]
// GENERATED: hr.contract %arg0, %[[T]] maps [#[[ROWS]], #[[COLUMNS]],
func.func @transposed(%a: tensor<8x16xf32>, %b: tensor<32x16xf32>) -> tensor<8x32xf32> {
  %0 = hr.contract %a, %b maps [#lhs, #rhs, #out] : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// Constant operands are packed later, for nothing.
// GENERATED-LABEL: func @constant
// GENERATED-NOT: hr.transpose
// GENERATED: hr.contract
func.func @constant(%a: tensor<8x16xf32>) -> tensor<8x32xf32> {
  %b = hr.constant dense<0.5> : tensor<32x16xf32>
  %0 = hr.contract %a, %b maps [#lhs, #rhs, #out] : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// cuDNN's filters have channels last, too.
// CONVOLUTION-LABEL: func @convolution
// CONVOLUTION: %[[F:.*]] = hr.transpose %arg1 [3, 0, 1, 2]
// CONVOLUTION: hr.library "cudnn.conv"(%arg0, %[[F]])
func.func @convolution(%x: tensor<2x9x9x3xf32>, %w: tensor<3x3x3x8xf32>) -> tensor<2x4x4x8xf32> {
  %0 = hr.conv channels_last %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
    : (tensor<2x9x9x3xf32>, tensor<3x3x3x8xf32>) -> tensor<2x4x4x8xf32>
  return %0 : tensor<2x4x4x8xf32>
}

// Products of bytes are a routine's; whether it finds their weights packed is decided later.
// BYTES: #[[SIZES:.*]] = affine_map<() -> (1, 8, 33, 16, 0, 0, 0, 0, 264, 16, 33, 33, 1, 0)>
// BYTES-LABEL: func @bytes
// BYTES: hr.library "int8.gemm"(%arg0, %{{.*}}) of {{.*}}parameters = #[[SIZES]]
// BYTES-SAME: (tensor<8x16xi8>, tensor<16x33xi8>) -> tensor<8x33xi32>
#columns = affine_map<(m, n, k) -> (k, n)>
func.func @bytes(%a: tensor<8x16xi8>) -> tensor<8x33xi32> {
  %b = hr.constant dense<-3> : tensor<16x33xi8>
  %0 = hr.contract %a, %b maps [#lhs, #columns, #out] {accumulator = i32, unsigned_lhs} : (tensor<8x16xi8>, tensor<16x33xi8>) -> tensor<8x33xi32>
  return %0 : tensor<8x33xi32>
}
