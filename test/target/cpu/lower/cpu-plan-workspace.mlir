// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-plan-workspace))' %s | FileCheck %s
// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-plan-workspace{apart=true}))' %s | FileCheck %s --check-prefix=APART

// Before: two temporaries.
// After: views of a workspace, each on a cache line of its own; the function says how much it needs.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[WORK:[a-z0-9]+]]: memref<?xi8>) -> index attributes {hr.workspace_bytes = 192 : i64}
// CHECK: memref.view %[[WORK]][%{{.*}}][] : memref<?xi8> to memref<1x17xf32>
// CHECK: memref.view %[[WORK]][%{{.*}}][] : memref<?xi8> to memref<8xi1>
// CHECK-NOT: memref.alloc
// CHECK: return
// Apart, each is an allocation that ends where it does.
// APART-LABEL: func.func @rows
// APART-SAME: hr.workspace_bytes = 0 : i64
// APART: memref.alloc() : memref<1x17xf32>
// APART: memref.alloc() : memref<8xi1>
// APART: memref.dealloc
// APART: memref.dealloc
func.func @rows(%out: memref<1x17xf32>, %flags: memref<8xi1>, %begin: index, %end: index) -> index {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %row = memref.alloc() : memref<1x17xf32>
    %flag = memref.alloc() : memref<8xi1>
    linalg.copy ins(%out : memref<1x17xf32>) outs(%row : memref<1x17xf32>)
    linalg.copy ins(%flags : memref<8xi1>) outs(%flag : memref<8xi1>)
    linalg.copy ins(%row : memref<1x17xf32>) outs(%out : memref<1x17xf32>)
    linalg.copy ins(%flag : memref<8xi1>) outs(%flags : memref<8xi1>)
  }
  return %c1 : index
}

// A kernel without temporaries needs none.
// CHECK-LABEL: func.func @none
// CHECK-SAME: hr.workspace_bytes = 0 : i64
func.func @none(%begin: index, %end: index) -> index {
  return %begin : index
}

// How much is not known: allocated, and freed at the end of its block.
// CHECK-LABEL: func.func @unknown
// CHECK: scf.for
// CHECK: %[[T:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: memref.dealloc %[[T]]
// CHECK-NEXT: }
func.func @unknown(%x: memref<?xf32>, %n: index, %begin: index, %end: index) -> index {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %t = memref.alloc(%n) : memref<?xf32>
    linalg.copy ins(%x : memref<?xf32>) outs(%t : memref<?xf32>)
    linalg.copy ins(%t : memref<?xf32>) outs(%x : memref<?xf32>)
  }
  return %c1 : index
}
