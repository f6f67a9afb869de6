// RUN: hr-opt %s --cpu-bf16-as-bits | FileCheck %s

// CHECK-LABEL: func @widened(%arg0: memref<64xi16>, %arg1: index) -> vector<6xf32>
// CHECK: %[[V:.*]] = vector.load %arg0[%arg1] : memref<64xi16>, vector<6xi16>
// CHECK: %[[E:.*]] = arith.extui %[[V]] : vector<6xi16> to vector<6xi32>
// CHECK: %[[C:.*]] = arith.constant dense<16> : vector<6xi32>
// CHECK: %[[S:.*]] = arith.shli %[[E]], %[[C]]
// CHECK: arith.bitcast %[[S]] : vector<6xi32> to vector<6xf32>
func.func @widened(%m: memref<64xbf16>, %i: index) -> vector<6xf32> {
  %v = vector.load %m[%i] : memref<64xbf16>, vector<6xbf16>
  %w = arith.extf %v : vector<6xbf16> to vector<6xf32>
  return %w : vector<6xf32>
}

// Rounded to nearest even, NaN kept.
// CHECK-LABEL: func @rounded
// CHECK: arith.cmpf uno
// CHECK: arith.trunci %{{.*}} : i32 to i16
// CHECK: memref.store %{{.*}} : memref<4xi16>
func.func @rounded(%x: f32, %m: memref<4xbf16>, %i: index) {
  %n = arith.truncf %x : f32 to bf16
  memref.store %n, %m[%i] : memref<4xbf16>
  return
}

// What does not convert is computed in single precision; constants are their bits.
// CHECK-LABEL: func @computed
// CHECK: arith.constant 16256 : i16
// CHECK: arith.maximumf %{{.*}}, %{{.*}} : f32
// CHECK-NOT: bf16
func.func @computed(%a: bf16) -> bf16 {
  %one = arith.constant 1.0 : bf16
  %m = arith.maximumf %a, %one : bf16
  return %m : bf16
}

// So are reductions of vectors.
// CHECK-LABEL: func @reduced
// CHECK: vector.reduction <maximumf>, %{{.*}} : vector<3xf32> into f32
// CHECK-NOT: bf16
func.func @reduced(%v: vector<3xbf16>) -> bf16 {
  %m = vector.reduction <maximumf>, %v : vector<3xbf16> into bf16
  return %m : bf16
}
