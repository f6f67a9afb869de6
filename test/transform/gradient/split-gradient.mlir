// RUN: hr-opt --pass-pipeline="builtin.module(func.func(differentiate,simplify-algebra,cse),split-gradient)" %s | FileCheck %s
// RUN: hr-opt --pass-pipeline="builtin.module(func.func(differentiate,simplify-algebra,cse),split-gradient{budget=0})" %s | FileCheck %s --check-prefix=NOTHING

// Operands and results of products are in memory anyway, and kept; nothing is computed again.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: {hr.name = "kept map"}{{.*}}{hr.name = "kept contract"}
// CHECK-LABEL: func.func @backward
// CHECK-SAME: hr.kept = array<i64: 1, -2, -3>
// CHECK-NOT: math.exp

// Without memory for it, all but the last operator is computed again.
// NOTHING-LABEL: func.func @forward
// NOTHING-SAME: -> tensor<64x64xf32>
// NOTHING-LABEL: func.func @backward
// NOTHING-SAME: hr.kept = array<i64: 0, 1>
// NOTHING: math.exp
// NOTHING: hr.contract
// NOTHING-NOT: math.sin
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %e = hr.map(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%v: f32):
    %r = math.exp %v : f32
    hr.yield %r : f32
  }
  %p = hr.contract %e, %w maps [#mk, #kn, #mn] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = hr.map(%p) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%v: f32):
    %r = math.sin %v : f32
    hr.yield %r : f32
  }
  return %y : tensor<64x64xf32>
}
