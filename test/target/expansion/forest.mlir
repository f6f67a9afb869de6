// RUN: hr-opt %s --pass-pipeline='builtin.module(func.func(choose-expansions))' | FileCheck %s
// RUN: hr-opt %s --pass-pipeline='builtin.module(func.func(form-kernels))' | FileCheck %s --check-prefix=GENERATED

// CHECK-DAG: #[[SIZES:.*]] = affine_map<() -> (9, 3, 2, 12, 4, 1, 2, 1, 0)>
// CHECK-LABEL: func @forest
// CHECK: hr.library "forest.f32"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5) of ["forest"] {{.*}}parameters = #[[SIZES]]
// A target without the routine walks all steps; the bit of NaN is asked at each.
// GENERATED-LABEL: func @forest
// GENERATED: hr.kernel "forest"
// GENERATED-COUNT-3: arith.cmpf uno
// GENERATED-NOT: arith.cmpf uno
func.func @forest(%rows: tensor<9x3xf32>, %roots: tensor<2xi32>, %depths: tensor<2xi32>, %nodes: tensor<12xi64>, %leaves: tensor<12xi32>, %weights: tensor<4x1xf32>) -> tensor<9x1xf32> {
  %y = hr.forest %rows, %roots, %depths, %nodes, %leaves, %weights {feature_bits = 2 : i64, depth = 3 : i64, treats_nan, kind = #hr<reduce_kind sum>} : (tensor<9x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<12xi64>, tensor<12xi32>, tensor<4x1xf32>) -> tensor<9x1xf32>
  return %y : tensor<9x1xf32>
}
