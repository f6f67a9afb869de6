// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-fuse-epilogues))' %s | FileCheck %s

#bytes = affine_map<() -> (1, 8, 4, 16, 0, 0, 0, 0, 32, 16, 4, 4, 1, 0)>
#cost = affine_map<() -> (0, 0, 0)>

// The sums become bytes in the routine, which writes the border, too. No one factor stands for these
// two scales: it divides, which form 0 says.
// CHECK-DAG: #[[FINISH:.*]] = affine_map<() -> (1, 8, 4, 16, 0, 0, 0, 0, 32, 16, 4, 4, 1, 0, 0, 1, 2, 2, 0, 1, 0, 0, 0, 1, 251)>
// CHECK-LABEL: func.func @quantized
// CHECK-NOT: hr.map
// CHECK: hr.library "int8.finished_gemm"(%arg0, %{{[0-9]+}}, %{{[0-9]+}})
// CHECK-SAME: parameters = #[[FINISH]]
// CHECK-SAME: -> tensor<2x3x3x4xi8>
func.func @quantized(%a: tensor<2x2x2x16xi8>) -> tensor<2x3x3x4xi8> {
  %w = hr.constant dense<-3> : tensor<16x4xi8>
  %0 = hr.library "int8.gemm"(%a, %w) of ["gemm"] {name = "gemm", parameters = #bytes, cost = #cost} : (tensor<2x2x2x16xi8>, tensor<16x4xi8>) -> tensor<2x2x2x4xi32>
  %1 = hr.map(%0) : (tensor<2x2x2x4xi32>) -> tensor<2x2x2x4xi8> {
  ^bb0(%x: i32):
    %scale = arith.constant 3.0e-03 : f32
    %step = arith.constant 4.0e-01 : f32
    %zero = arith.constant -5.0 : f32
    %none = arith.constant 0.0 : f32
    %low = arith.constant -1.28e+02 : f32
    %high = arith.constant 1.27e+02 : f32
    %2 = arith.sitofp %x : i32 to f32
    %3 = arith.mulf %2, %scale : f32
    %4 = arith.maximumf %3, %none : f32
    %5 = arith.divf %4, %step : f32
    %6 = math.roundeven %5 : f32
    %7 = arith.addf %6, %zero : f32
    %8 = arith.cmpf une, %7, %7 : f32
    %9 = arith.select %8, %none, %7 : f32
    %10 = arith.cmpf olt, %9, %high : f32
    %11 = arith.select %10, %9, %high : f32
    %12 = arith.cmpf ogt, %11, %low : f32
    %13 = arith.select %12, %11, %low : f32
    %14 = arith.fptosi %13 : f32 to i32
    %15 = arith.trunci %14 : i32 to i8
    hr.yield %15 : i8
  }
  %p = hr.pad %1 {low = array<i64: 0, 1, 0, 0>, high = array<i64: 0, 0, 1, 0>, value = -5 : i8} : (tensor<2x2x2x4xi8>) -> tensor<2x3x3x4xi8>
  return %p : tensor<2x3x3x4xi8>
}

// Sums that others read are stored.
// CHECK-LABEL: func.func @read_twice
// CHECK: hr.library "int8.gemm"
// CHECK: hr.map
func.func @read_twice(%a: tensor<8x16xi8>) -> (tensor<8x4xi32>, tensor<8x4xf32>) {
  %w = hr.constant dense<-3> : tensor<16x4xi8>
  %0 = hr.library "int8.gemm"(%a, %w) of ["gemm"] {name = "gemm", parameters = #bytes, cost = #cost} : (tensor<8x16xi8>, tensor<16x4xi8>) -> tensor<8x4xi32>
  %1 = hr.map(%0) : (tensor<8x4xi32>) -> tensor<8x4xf32> {
  ^bb0(%x: i32):
    %2 = arith.sitofp %x : i32 to f32
    hr.yield %2 : f32
  }
  return %0, %1 : tensor<8x4xi32>, tensor<8x4xf32>
}
