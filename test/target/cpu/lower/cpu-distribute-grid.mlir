// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-distribute-grid),builtin.module(func.func(cpu-distribute-grid)))' %s | FileCheck %s

// Before: a grid of 8 x 4 cells.
// After: a loop over the cells its caller asks for; the function returns how many there are.
// CHECK-LABEL: func.func @grid
// CHECK-SAME: %[[OUT:.*]]: memref<8x4xf32>, %[[BEGIN:.*]]: index, %[[END:.*]]: index) -> index
// CHECK: %[[C4:.*]] = arith.constant 4 : index
// CHECK: %[[PART:.*]] = arith.muli
// CHECK: %[[CELLS:.*]] = arith.muli %[[PART]], %[[C4]]
// CHECK: scf.for %[[CELL:.*]] = %[[BEGIN]] to %[[END]]
// CHECK-DAG: %[[J:.*]] = arith.remui %[[CELL]], %[[C4]]
// CHECK-DAG: %[[I:.*]] = arith.divui %[[CELL]], %[[C4]]
// CHECK: memref.store %{{.*}}, %[[OUT]][%[[I]], %[[J]]]
// CHECK-NOT: scf.forall
// CHECK: return %[[CELLS]] : index
func.func @grid(%out: memref<8x4xf32>) {
  %one = arith.constant 1.0 : f32
  scf.forall (%i, %j) in (8, 4) {
    memref.store %one, %out[%i, %j] : memref<8x4xf32>
  }
  return
}

// Work outside the grid: all of it is one cell.
// CHECK-LABEL: func.func @one_cell
// CHECK-SAME: %{{.*}}: memref<8xf32>, %[[BEGIN:.*]]: index, %[[END:.*]]: index) -> index
// CHECK: %[[WANTED:.*]] = arith.cmpi ult, %[[BEGIN]], %[[END]]
// CHECK: scf.if %[[WANTED]]
// CHECK: memref.store
// CHECK: scf.for
// CHECK: memref.store
// CHECK-NOT: scf.forall
// CHECK: %[[ONE:.*]] = arith.constant 1 : index
// CHECK: return %[[ONE]] : index
func.func @one_cell(%out: memref<8xf32>) {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  memref.store %one, %out[%c0] : memref<8xf32>
  scf.forall (%i) in (8) {
    memref.store %one, %out[%i] : memref<8xf32>
  }
  return
}

// What no cell touches runs with the first of them.
// CHECK-LABEL: func.func @border
// CHECK-SAME: %{{.*}}: memref<10xf32>, %[[BEGIN:.*]]: index, %[[END:.*]]: index) -> index
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[BEGIN]]
// CHECK: %[[RUNS:.*]] = arith.cmpi ult, %[[BEGIN]], %[[END]]
// CHECK: %[[BOTH:.*]] = arith.andi %[[FIRST]], %[[RUNS]]
// CHECK: scf.if %[[BOTH]]
// CHECK-NEXT: linalg.fill {hr.border}
// CHECK-NEXT: }
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK-NOT: linalg.fill
// CHECK: return
func.func @border(%out: memref<10xf32>) {
  %one = arith.constant 1.0 : f32
  %before = memref.subview %out[0] [2] [1] : memref<10xf32> to memref<2xf32, strided<[1]>>
  linalg.fill {hr.border} ins(%one : f32) outs(%before : memref<2xf32, strided<[1]>>)
  %inside = memref.subview %out[2] [8] [1] : memref<10xf32> to memref<8xf32, strided<[1], offset: 2>>
  scf.forall (%i) in (8) {
    memref.store %one, %inside[%i] : memref<8xf32, strided<[1], offset: 2>>
  }
  return
}

// A kernel that can run in slices fills the padding of each part with the first cell of that part.
// CHECK-LABEL: func.func @border_of_parts
// CHECK: scf.for
// CHECK-DAG: %[[J:.*]] = arith.remui
// CHECK-DAG: %[[I:.*]] = arith.divui
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[J]]
// CHECK: scf.if %[[FIRST]]
// CHECK: %[[PART:.*]] = memref.subview %{{.*}}[%[[I]], 0] [1, 2]
// CHECK: linalg.fill ins(%{{.*}}) outs(%[[PART]]
// CHECK-NOT: hr.border
// CHECK: return
module @parts attributes {hr.slices = array<i64: 4, 0>} {
  func.func @border_of_parts(%out: memref<4x10xf32>) {
    %one = arith.constant 1.0 : f32
    %before = memref.subview %out[0, 0] [4, 2] [1, 1] : memref<4x10xf32> to memref<4x2xf32, strided<[10, 1]>>
    linalg.fill {hr.border} ins(%one : f32) outs(%before : memref<4x2xf32, strided<[10, 1]>>)
    %rest = memref.subview %out[0, 2] [4, 8] [1, 1] : memref<4x10xf32> to memref<4x8xf32, strided<[10, 1], offset: 2>>
    scf.forall (%i, %j) in (4, 8) {
      memref.store %one, %rest[%i, %j] : memref<4x8xf32, strided<[10, 1], offset: 2>>
    }
    return
  }
}
