// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-vectorize-steps{vector-bytes=64 dot-products=true}))' %s | FileCheck %s --check-prefixes=CHECK,DOTS
// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-vectorize-steps{vector-bytes=32}))' %s | FileCheck %s --check-prefixes=CHECK,PAIRS

// Before: products of unsigned by signed bytes, four terms of a column beside each other. After: sums of some rows and
// vectors of columns in registers, with four terms added at a time, or two and two.
// CHECK-LABEL: func.func @bytes
// CHECK: tensor.collapse_shape {{.*}} : tensor<8x4x8x4xi8> into tensor<8x128xi8>
// CHECK: scf.for
// DOTS-COUNT-6: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// PAIRS-COUNT-12: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// CHECK: tensor.expand_shape {{.*}} into tensor<3x4x8xi32>
// CHECK-NOT: linalg.generic
// CHECK: return
#state = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3 * 4 + d4)>
#weights = affine_map<(d0, d1, d2, d3, d4) -> (d3, d1, d2, d4)>
#sum = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
func.func @bytes(%q: tensor<3x32xi8>, %w: tensor<8x4x8x4xi8>) -> tensor<3x4x8xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<3x4x8xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<3x4x8xi32>) -> tensor<3x4x8xi32>
  %z = linalg.generic {indexing_maps = [#state, #weights, #sum], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%q, %w : tensor<3x32xi8>, tensor<8x4x8x4xi8>) outs(%f : tensor<3x4x8xi32>) {
  ^bb0(%a: i8, %b: i8, %o: i32):
    %u = arith.extui %a : i8 to i32
    %s = arith.extsi %b : i8 to i32
    %p = arith.muli %u, %s : i32
    %y = arith.addi %o, %p : i32
    linalg.yield %y : i32
  } -> tensor<3x4x8xi32>
  return %z : tensor<3x4x8xi32>
}

// Any number of rows: some at a time, then one by one.
// CHECK-LABEL: func.func @open
// CHECK: arith.remui
// CHECK: scf.for
// CHECK: llvm.call_intrinsic
// CHECK: scf.for
// CHECK: llvm.call_intrinsic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @open(%q: tensor<?x32xi8>, %w: tensor<8x4x8x4xi8>, %n: index) -> tensor<?x4x8xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty(%n) : tensor<?x4x8xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<?x4x8xi32>) -> tensor<?x4x8xi32>
  %z = linalg.generic {indexing_maps = [#state, #weights, #sum], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%q, %w : tensor<?x32xi8>, tensor<8x4x8x4xi8>) outs(%f : tensor<?x4x8xi32>) {
  ^bb0(%a: i8, %b: i8, %o: i32):
    %u = arith.extui %a : i8 to i32
    %s = arith.extsi %b : i8 to i32
    %p = arith.muli %u, %s : i32
    %y = arith.addi %o, %p : i32
    linalg.yield %y : i32
  } -> tensor<?x4x8xi32>
  return %z : tensor<?x4x8xi32>
}

// Columns that fill no vector, and products of signed bytes, stay as they are.
// CHECK-LABEL: func.func @others
// CHECK: linalg.generic
// CHECK: linalg.generic
// CHECK-NOT: llvm.call_intrinsic
// CHECK: return
func.func @others(%q: tensor<3x32xi8>, %w: tensor<8x4x3x4xi8>, %v: tensor<8x4x8x4xi8>) -> (tensor<3x4x3xi32>, tensor<3x4x8xi32>) {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<3x4x3xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<3x4x3xi32>) -> tensor<3x4x3xi32>
  %z = linalg.generic {indexing_maps = [#state, #weights, #sum], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%q, %w : tensor<3x32xi8>, tensor<8x4x3x4xi8>) outs(%f : tensor<3x4x3xi32>) {
  ^bb0(%a: i8, %b: i8, %o: i32):
    %u = arith.extui %a : i8 to i32
    %s = arith.extsi %b : i8 to i32
    %p = arith.muli %u, %s : i32
    %y = arith.addi %o, %p : i32
    linalg.yield %y : i32
  } -> tensor<3x4x3xi32>
  %d = tensor.empty() : tensor<3x4x8xi32>
  %g = linalg.fill ins(%zero : i32) outs(%d : tensor<3x4x8xi32>) -> tensor<3x4x8xi32>
  %t = linalg.generic {indexing_maps = [#state, #weights, #sum], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%q, %v : tensor<3x32xi8>, tensor<8x4x8x4xi8>) outs(%g : tensor<3x4x8xi32>) {
  ^bb0(%a: i8, %b: i8, %o: i32):
    %u = arith.extsi %a : i8 to i32
    %s = arith.extsi %b : i8 to i32
    %p = arith.muli %u, %s : i32
    %y = arith.addi %o, %p : i32
    linalg.yield %y : i32
  } -> tensor<3x4x8xi32>
  return %z, %t : tensor<3x4x3xi32>, tensor<3x4x8xi32>
}
