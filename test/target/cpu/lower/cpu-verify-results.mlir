// RUN: not hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(cpu-verify-results))' -o /dev/null %s 2>&1 | FileCheck %s

// Each result is computed where it belongs; the second reads the first, a third is an operand's copy,
// a fourth starts from the first's numbers and goes on.
// CHECK-NOT: kernel 'own'
func.func @own(%x: memref<8xf32>, %p: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>, %w: memref<8xf32>,
               %begin: index, %end: index, %workspace: memref<?xi8>) attributes {hr.results = 4 : i64, hr.workspace_bytes = 0 : i64} {
  linalg.exp ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  linalg.tanh ins(%p : memref<8xf32>) outs(%y : memref<8xf32>)
  linalg.copy ins(%x : memref<8xf32>) outs(%z : memref<8xf32>)
  linalg.copy ins(%p : memref<8xf32>) outs(%w : memref<8xf32>)
  linalg.add ins(%w, %x : memref<8xf32>, memref<8xf32>) outs(%w : memref<8xf32>)
  return
}

// -----

// CHECK: error: kernel 'shared': results 0 and 1 share a buffer
func.func @shared(%x: memref<8xf32>, %p: memref<8xf32>, %y: memref<8xf32>,
                  %begin: index, %end: index, %workspace: memref<?xi8>) attributes {hr.results = 2 : i64} {
  linalg.exp ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  linalg.copy ins(%p : memref<8xf32>) outs(%y : memref<8xf32>)
  return
}

// -----

// The same by way of temporaries and views.
// CHECK: error: kernel 'staged': results 0 and 1 share a buffer
func.func @staged(%x: memref<8xf32>, %p: memref<8xf32>, %y: memref<8xf32>,
                  %begin: index, %end: index, %workspace: memref<?xi8>) attributes {hr.results = 2 : i64} {
  %t = memref.alloc() : memref<8xf32>
  %u = memref.alloc() : memref<8xf32>
  scf.for %i = %begin to %end step %end {
    %part = memref.subview %t[%i] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
    %from = memref.subview %x[%i] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
    %to = memref.subview %u[%i] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
    linalg.exp ins(%from : memref<4xf32, strided<[1], offset: ?>>) outs(%part : memref<4xf32, strided<[1], offset: ?>>)
    linalg.copy ins(%part : memref<4xf32, strided<[1], offset: ?>>) outs(%to : memref<4xf32, strided<[1], offset: ?>>)
  }
  linalg.copy ins(%t : memref<8xf32>) outs(%p : memref<8xf32>)
  linalg.copy ins(%u : memref<8xf32>) outs(%y : memref<8xf32>)
  return
}

// -----

// CHECK: error: kernel 'lost': the result of linalg.exp is overwritten before anything reads it
func.func @lost(%x: memref<8xf32>, %p: memref<8xf32>,
                %begin: index, %end: index, %workspace: memref<?xi8>) attributes {hr.results = 1 : i64} {
  linalg.exp ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  linalg.tanh ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  return
}

// -----

// CHECK: error: kernel 'operand': linalg.exp writes to operand 0
func.func @operand(%x: memref<8xf32>, %p: memref<8xf32>,
                   %begin: index, %end: index, %workspace: memref<?xi8>) attributes {hr.results = 1 : i64} {
  linalg.exp ins(%x : memref<8xf32>) outs(%x : memref<8xf32>)
  linalg.copy ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  return
}

// -----

// CHECK: error: kernel 'unwritten': result 1 is never written
func.func @unwritten(%x: memref<8xf32>, %p: memref<8xf32>, %y: memref<8xf32>,
                     %begin: index, %end: index, %workspace: memref<?xi8>) attributes {hr.results = 2 : i64} {
  linalg.exp ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  return
}

// -----

// CHECK: error: kernel 'workspace': two temporaries share bytes of the workspace
func.func @workspace(%p: memref<8xf32>,
                     %begin: index, %end: index, %workspace: memref<?xi8>) attributes {hr.results = 1 : i64, hr.workspace_bytes = 128 : i64} {
  %zero = arith.constant 0 : index
  %inside = arith.constant 16 : index
  %one = arith.constant 1.0 : f32
  %a = memref.view %workspace[%zero][] : memref<?xi8> to memref<8xf32>
  %b = memref.view %workspace[%inside][] : memref<?xi8> to memref<8xf32>
  linalg.fill ins(%one : f32) outs(%a : memref<8xf32>)
  linalg.fill ins(%one : f32) outs(%b : memref<8xf32>)
  linalg.add ins(%a, %b : memref<8xf32>, memref<8xf32>) outs(%p : memref<8xf32>)
  return
}
