// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-approximate-math))' %s | FileCheck %s

// Before: the exponential of eight numbers.
// After: a polynomial, in vectors; no call is left to make.
// CHECK-LABEL: func.func @exp
// CHECK-NOT: math.exp
// CHECK: math.fma {{.*}} : vector<8xf32>
// CHECK-NOT: math.exp
// CHECK: return
func.func @exp(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// Double precision has polynomials of its own.
// CHECK-LABEL: func.func @double
// CHECK-NOT: math.exp
// CHECK: math.fma {{.*}} : vector<8xf64>
// CHECK-NOT: math.exp
// CHECK: return
func.func @double(%x: vector<8xf64>) -> vector<8xf64> {
  %0 = math.exp %x : vector<8xf64>
  return %0 : vector<8xf64>
}

// The polynomial of the sine has five times the error of libm's.
// CHECK-LABEL: func.func @sin
// CHECK-NEXT: math.sin %{{.*}} : vector<8xf32>
// CHECK-NEXT: return
func.func @sin(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.sin %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// What is smaller than the smallest normal number is scaled by 2^24 first.
// CHECK-LABEL: func.func @log
// CHECK: %[[LEAST:.*]] = arith.constant 1.17549435E-38 : f32
// CHECK: %[[SMALL:.*]] = arith.cmpf olt, %arg0, %[[LEAST]]
// CHECK: %[[SCALE:.*]] = arith.constant 0x4B800000 : f32
// CHECK: %[[SCALED:.*]] = arith.mulf %arg0, %[[SCALE]]
// CHECK: arith.select %[[SMALL]], %[[SCALED]], %arg0
// CHECK-NOT: math.log
// CHECK: %[[LOG:.*]] = arith.constant 16.6355324 : f32
// CHECK: %[[LESS:.*]] = arith.select %[[SMALL]], %[[LOG]]
// CHECK: %[[R:.*]] = arith.subf %{{.*}}, %[[LESS]]
// CHECK: return %[[R]]
func.func @log(%x: f32) -> f32 {
  %0 = math.log %x : f32
  return %0 : f32
}
