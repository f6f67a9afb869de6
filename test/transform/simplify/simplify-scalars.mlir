// RUN: hr-opt %s --simplify-scalars | FileCheck %s
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,simplify-scalars,compare-answers))' %s -o /dev/null

// Mish: x * tanh(softplus(x)). Before: exp, log1p and tanh. After: exp and one division.
// CHECK-LABEL: func @mish
// CHECK-DAG: %[[T:.*]] = math.exp
// CHECK-NOT: math.log1p
// CHECK-NOT: math.tanh
// CHECK: %[[POSITIVE:.*]] = arith.cmpf oge
// CHECK: %[[NUMERATOR:.*]] = arith.select %[[POSITIVE]]
// CHECK: %[[REST:.*]] = arith.select %[[POSITIVE]]
// CHECK: %[[DENOMINATOR:.*]] = arith.addf %[[NUMERATOR]], %[[REST]]
// CHECK: arith.divf %[[NUMERATOR]], %[[DENOMINATOR]]
func.func @mish(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = hr.map(%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: f32):
    %zero = arith.constant 0.0 : f32
    %magnitude = math.absf %a : f32
    %negative = arith.negf %magnitude : f32
    %t = math.exp %negative : f32
    %log = math.log1p %t : f32
    %ramp = arith.maximumf %a, %zero : f32
    %softplus = arith.addf %ramp, %log : f32
    %tanh = math.tanh %softplus : f32
    %y = arith.mulf %a, %tanh : f32
    hr.yield %y : f32
  }
  return %0 : tensor<64xf32>
}

// The same as most would write it.
// CHECK-LABEL: func @plain_mish
// CHECK: %[[SIZE:.*]] = math.absf
// CHECK: %[[NEGATIVE:.*]] = arith.negf %[[SIZE]]
// CHECK: math.exp %[[NEGATIVE]]
// CHECK-NOT: math.log
// CHECK-NOT: math.tanh
// CHECK: arith.divf
func.func @plain_mish(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = hr.map(%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: f32):
    %one = arith.constant 1.0 : f32
    %e = math.exp %a : f32
    %sum = arith.addf %one, %e : f32
    %log = math.log %sum : f32
    %tanh = math.tanh %log : f32
    %y = arith.mulf %a, %tanh : f32
    hr.yield %y : f32
  }
  return %0 : tensor<64xf32>
}

// A logarithm of one more than an exponential neither overflows nor loses small values.
// CHECK-LABEL: func @softplus
// CHECK: arith.maximumf
// CHECK: math.log1p
// CHECK-NOT: math.log1p
func.func @softplus(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = hr.map(%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    %y = math.log1p %e : f32
    hr.yield %y : f32
  }
  return %0 : tensor<64xf32>
}

// A product with a reciprocal is a quotient, unless others need the reciprocal or it is the same for
// other elements, too.
// CHECK-LABEL: func @swish
// CHECK-SAME: tensor<64xf32>
// CHECK: ^bb0(%[[X:.*]]: f32):
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: %[[Y:.*]] = arith.divf %[[X]], %[[SUM]]
// CHECK: hr.yield %[[Y]]
func.func @swish(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = hr.map(%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: f32):
    %one = arith.constant 1.0 : f32
    %negative = arith.negf %a : f32
    %e = math.exp %negative : f32
    %sum = arith.addf %one, %e : f32
    %sigmoid = arith.divf %one, %sum : f32
    %y = arith.mulf %a, %sigmoid : f32
    hr.yield %y : f32
  }
  return %0 : tensor<64xf32>
}

// CHECK-LABEL: func @reciprocal_twice
// CHECK: %[[R:.*]] = arith.divf
// CHECK: %[[P:.*]] = arith.mulf %{{.*}}, %[[R]]
// CHECK: arith.addf %[[P]], %[[R]]
func.func @reciprocal_twice(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = hr.map(%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: f32):
    %one = arith.constant 1.0 : f32
    %r = arith.divf %one, %a : f32
    %s = math.sqrt %a : f32
    %p = arith.mulf %s, %r : f32
    %y = arith.addf %p, %r : f32
    hr.yield %y : f32
  }
  return %0 : tensor<64xf32>
}

// CHECK-LABEL: func @reciprocal_of_rows
// CHECK: %[[R:.*]] = arith.divf
// CHECK: arith.mulf %{{.*}}, %[[R]]
func.func @reciprocal_of_rows(%x: tensor<4x64xf32>, %sum: tensor<4x1xf32>) -> tensor<4x64xf32> {
  %0 = hr.map(%x, %sum) : (tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x64xf32> {
  ^bb0(%a: f32, %s: f32):
    %one = arith.constant 1.0 : f32
    %r = arith.divf %one, %s : f32
    %y = arith.mulf %a, %r : f32
    hr.yield %y : f32
  }
  return %0 : tensor<4x64xf32>
}

// A tangent of anything else stays.
// CHECK-LABEL: func @other
// CHECK: math.tanh
func.func @other(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = hr.map(%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: f32):
    %zero = arith.constant 0.0 : f32
    %log = math.log1p %a : f32
    %ramp = arith.maximumf %a, %zero : f32
    %sum = arith.addf %ramp, %log : f32
    %y = math.tanh %sum : f32
    hr.yield %y : f32
  }
  return %0 : tensor<64xf32>
}
