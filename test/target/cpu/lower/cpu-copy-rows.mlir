// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-copy-rows))' --split-input-file %s | FileCheck %s

// Before: an element at a time, each by the number of its row.
// After: a number for each row, and vectors.
// CHECK-LABEL: func.func @example(
// CHECK-SAME: %[[N:.*]]: memref<512xi64>, %[[T:.*]]: memref<100x64xf32>, %[[R:.*]]: memref<512x64xf32>)
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[NUMBER:.*]] = memref.load %[[N]][%[[I]]] : memref<512xi64>
// CHECK: %[[ROW:.*]] = arith.index_cast %[[NUMBER]]
// CHECK: scf.for %[[C:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK: %[[V:.*]] = vector.load %[[T]][%[[ROW]], %[[C]]] : memref<100x64xf32>, vector<32xf32>
// CHECK: vector.store %[[V]], %[[R]][%[[I]], %[[C]]] : memref<512x64xf32>, vector<32xf32>
// CHECK-NOT: linalg.generic
func.func @example(%numbers: memref<512xi64>, %table: memref<100x64xf32>, %rows: memref<512x64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%numbers : memref<512xi64>) outs(%rows : memref<512x64xf32>) {
  ^bb0(%n: i64, %o: f32):
    %row = arith.index_cast %n : i64 to index
    %column = linalg.index 1 : index
    %x = memref.load %table[%row, %column] : memref<100x64xf32>
    linalg.yield %x : f32
  }
  return
}

// -----

// What whole vectors leave over is a shorter one.
// CHECK-LABEL: func.func @copy
// CHECK: scf.for %[[I:.*]] =
// CHECK: vector.load %arg0[%[[I]], %{{.*}}] : memref<8x39xf32>, vector<32xf32>
// CHECK: vector.load %arg0[%[[I]], %{{.*}}] : memref<8x39xf32>, vector<7xf32>
func.func @copy(%x: memref<8x39xf32>, %y: memref<8x39xf32>) {
  linalg.copy ins(%x : memref<8x39xf32>) outs(%y : memref<8x39xf32>)
  return
}

// -----

// Rows of unknown length: the number is looked up once all the same.
// CHECK-LABEL: func.func @unknown_length
// CHECK: scf.for %[[I:.*]] =
// CHECK: memref.load %arg0[%[[I]]]
// CHECK: linalg.copy
func.func @unknown_length(%numbers: memref<?xi64>, %table: memref<100x?xf32>, %rows: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%numbers : memref<?xi64>) outs(%rows : memref<?x?xf32>) {
  ^bb0(%n: i64, %o: f32):
    %row = arith.index_cast %n : i64 to index
    %column = linalg.index 1 : index
    %x = memref.load %table[%row, %column] : memref<100x?xf32>
    linalg.yield %x : f32
  }
  return
}

// -----

// A number for each element, and a function of what is read, are no rows.
// CHECK-LABEL: func.func @elements
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: vector.load
func.func @elements(%numbers: memref<64xi64>, %table: memref<512x100xf32>, %rows: memref<512x64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%numbers : memref<64xi64>) outs(%rows : memref<512x64xf32>) {
  ^bb0(%n: i64, %o: f32):
    %column = arith.index_cast %n : i64 to index
    %row = linalg.index 0 : index
    %x = memref.load %table[%row, %column] : memref<512x100xf32>
    linalg.yield %x : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%rows : memref<512x64xf32>) outs(%rows : memref<512x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.negf %x : f32
    linalg.yield %y : f32
  }
  return
}
