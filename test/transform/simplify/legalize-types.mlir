// RUN: hr-opt %s --pass-pipeline='builtin.module(func.func(legalize-types))' | FileCheck %s
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,legalize-types,compare-answers))' %s -o /dev/null

// Unsigned numbers are what their operations make of them.
// CHECK-LABEL: func @unsigned
// CHECK-SAME: %arg0: tensor<4xi8> {hr.type = ui8}) -> (tensor<4xi8> {hr.type = ui8})
// CHECK: hr.map(%arg0) : (tensor<4xi8>) -> tensor<4xi8>
// CHECK-NEXT: ^bb0(%[[A:.*]]: i8):
// CHECK-NEXT: %[[D:.*]] = arith.divui %[[A]], %[[A]] : i8
// CHECK-NEXT: hr.yield %[[D]] : i8
func.func @unsigned(%x: tensor<4xui8>) -> tensor<4xui8> {
  %y = hr.map(%x) : (tensor<4xui8>) -> tensor<4xui8> {
  ^bb0(%a: ui8):
    %i = hr.bits %a : ui8 -> i8
    %d = arith.divui %i, %i : i8
    %u = hr.bits %d : i8 -> ui8
    hr.yield %u : ui8
  }
  return %y : tensor<4xui8>
}

// Products note whose sign is gone.
// CHECK-LABEL: func @product
// CHECK: hr.contract %arg0, %arg1 maps {{.*}} {accumulator = i32, unsigned_lhs}
// CHECK-SAME: (tensor<4x8xi8>, tensor<8x3xi8>) -> tensor<4x3xi32>
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
func.func @product(%a: tensor<4x8xui8>, %b: tensor<8x3xi8>) -> tensor<4x3xi32> {
  %c = hr.contract %a, %b maps [#lhs, #rhs, #out] {accumulator = i32} : (tensor<4x8xui8>, tensor<8x3xi8>) -> tensor<4x3xi32>
  return %c : tensor<4x3xi32>
}

// Constants keep their bytes.
// CHECK-LABEL: func @constants
// CHECK: hr.constant dense<[-1, 1]> : tensor<2xi8>
// CHECK: hr.constant dense<[56, -64]> : tensor<2xi8>
// CHECK: hr.constant dense<[-8, 7]> : tensor<2xi8>
// CHECK: hr.pad {{.*}}value = -56 : i8
func.func @constants() -> (tensor<4xui8>, tensor<2xf8E4M3FN>, tensor<2xi4>) {
  %0 = hr.constant dense<[255, 1]> : tensor<2xui8>
  %1 = hr.constant dense<[1.0, -2.0]> : tensor<2xf8E4M3FN>
  %2 = hr.constant dense<[-8, 7]> : tensor<2xi4>
  %3 = hr.pad %0 {low = array<i64: 1>, high = array<i64: 1>, value = 200 : ui8} : (tensor<2xui8>) -> tensor<4xui8>
  return %3, %1, %2 : tensor<4xui8>, tensor<2xf8E4M3FN>, tensor<2xi4>
}

// Symbolic sizes stay.
// CHECK-LABEL: func @symbolic
// CHECK-SAME: %arg0: tensor<?x2xi16, #{{.*}}> {hr.type = ui16}
func.func @symbolic(%x: tensor<?x2xui16, affine_map<()[s0] -> (s0, 2)>>) -> tensor<?x2xui16, affine_map<()[s0] -> (s0, 2)>> attributes {hr.symbols = ["n"]} {
  return %x : tensor<?x2xui16, affine_map<()[s0] -> (s0, 2)>>
}
