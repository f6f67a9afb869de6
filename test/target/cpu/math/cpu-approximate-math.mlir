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

// One more than an exponential needs none of the steps for results that are no normal numbers: two
// limits are its only comparisons, and the sign of a sigmoid's argument goes into products.
// CHECK-LABEL: func.func @one_plus_exp
// CHECK-COUNT-2: arith.cmpf
// CHECK-NOT: arith.cmpf
// CHECK-NOT: math.exp
// CHECK: arith.bitcast %{{.*}} : vector<8xi32> to vector<8xf32>
// CHECK: math.fma
// CHECK-NEXT: return
func.func @one_plus_exp(%x: vector<8xf32>) -> vector<8xf32> {
  %one = arith.constant dense<1.0> : vector<8xf32>
  %negative = arith.negf %x : vector<8xf32>
  %e = math.exp %negative : vector<8xf32>
  %0 = arith.addf %e, %one : vector<8xf32>
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

// Moderate arguments have a polynomial; only where a lane holds a larger one is the library called.
// CHECK-LABEL: func.func @sin
// CHECK: %[[MAGNITUDE:.*]] = math.absf %arg0
// CHECK: %[[LARGE:.*]] = arith.cmpf oge, %[[MAGNITUDE]]
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[LARGE]]
// CHECK: scf.if %[[ANY]]
// CHECK: math.sin {{.*}} : f32
// CHECK-NOT: math.sin
// CHECK: return
func.func @sin(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.sin %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// Subnormal arguments are scaled by 2^24 first.
// CHECK-LABEL: func.func @log
// CHECK: %[[LEAST:.*]] = arith.constant 1.17549435E-38 : f32
// CHECK: %[[SMALL:.*]] = arith.cmpf olt, %arg0, %[[LEAST]]
// CHECK: %[[SCALE:.*]] = arith.constant 0x4B800000 : f32
// CHECK: %[[SCALED:.*]] = arith.mulf %arg0, %[[SCALE]]
// CHECK: arith.select %[[SMALL]], %[[SCALED]], %arg0
// CHECK-NOT: math.log
// CHECK: return
func.func @log(%x: f32) -> f32 {
  %0 = math.log %x : f32
  return %0 : f32
}

// Functions that have no polynomial stay calls.
// CHECK-LABEL: func.func @atan
// CHECK-NEXT: math.atan %{{.*}} : vector<8xf32>
// CHECK-NEXT: return
func.func @atan(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.atan %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// Rounding is one instruction: nothing is written out.
// CHECK-LABEL: func.func @round
// CHECK-NEXT: %[[SINGLE:.*]] = math.roundeven %arg0 : vector<8xf32>
// CHECK-NEXT: %[[DOUBLE:.*]] = math.roundeven %arg1 : vector<8xf64>
// CHECK-NEXT: return %[[SINGLE]], %[[DOUBLE]]
func.func @round(%x: vector<8xf32>, %y: vector<8xf64>) -> (vector<8xf32>, vector<8xf64>) {
  %0 = math.roundeven %x : vector<8xf32>
  %1 = math.roundeven %y : vector<8xf64>
  return %0, %1 : vector<8xf32>, vector<8xf64>
}

// The accumulator is compared once; NaN wins from either side.
// CHECK-LABEL: func.func @maximum(
// CHECK-SAME: %[[ACC:.*]]: vector<8xf32>, %[[X:.*]]: vector<8xf32>)
// CHECK-NEXT: %[[WINS:.*]] = arith.cmpf ogt, %[[X]], %[[ACC]]
// CHECK-NEXT: %[[MAX:.*]] = arith.select %[[WINS]], %[[X]], %[[ACC]]
// CHECK-NEXT: %[[NAN:.*]] = arith.cmpf uno, %[[X]], %[[X]]
// CHECK-NEXT: %[[Y:.*]] = arith.select %[[NAN]], %[[X]], %[[MAX]]
// CHECK-NEXT: return %[[Y]]
func.func @maximum(%acc: vector<8xf32>, %x: vector<8xf32>) -> vector<8xf32> {
  %0 = arith.maximumf %acc, %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// Lanes are combined by halves, of which the first may meet the same lane twice.
// CHECK-LABEL: func.func @lanes(
// CHECK: vector.shuffle %{{.*}} [0, 1, 2, 3]
// CHECK: vector.shuffle %{{.*}} [4, 5, 4, 5]
// CHECK: arith.cmpf olt, %{{.*}} : vector<4xf32>
// CHECK: arith.cmpf olt, %{{.*}} : vector<2xf32>
// CHECK: arith.cmpf olt, %{{.*}} : vector<1xf32>
// CHECK: vector.extract
// CHECK-NOT: vector.reduction
// CHECK: return
func.func @lanes(%x: vector<6xf32>) -> f32 {
  %0 = vector.reduction <minimumf>, %x : vector<6xf32> into f32
  return %0 : f32
}
