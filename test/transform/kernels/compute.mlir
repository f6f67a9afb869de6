// The general operator in kernels: maps, positions, tables, reductions of any kind.
// RUN: hr-opt %s --form-kernels | FileCheck %s
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,fold-constants,form-kernels,compare-answers))' %s -o /dev/null

// Positions become those of the kernel's loops; the axes stay apart.
// CHECK-LABEL: func.func @positions
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK: linalg.index 1
func.func @positions(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = hr.compute(%x) over affine_map<() -> (4, 8)> maps [affine_map<(i, j) -> (i, j)>] : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: f32):
    %j = hr.index 1
    %n = arith.index_cast %j : index to i64
    %f = arith.sitofp %n : i64 to f32
    %s = arith.addf %a, %f : f32
    hr.yield %s : f32
  }
  return %y : tensor<4x8xf32>
}

// A reduction anchors a kernel; element-wise work on its result joins it.
// CHECK-LABEL: func.func @window
// CHECK: hr.kernel "{{.*}}"({{.*}}) of ["compute", "map"]
// CHECK: linalg.fill
// CHECK: arith.mulf
// CHECK: arith.maximumf
// CHECK: math.tanh
// CHECK-NOT: hr.kernel
// CHECK: return
func.func @window(%x: tensor<10xf32>, %w: tensor<3xf32>) -> tensor<8xf32> {
  %y = hr.compute(%x, %w) over affine_map<() -> (8, 3)>
      maps [affine_map<(i, r) -> (i + r)>, affine_map<(i, r) -> (r)>]
      {reduced = 1 : i64, initial = 0xFF800000 : f32} : (tensor<10xf32>, tensor<3xf32>) -> tensor<8xf32> {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    hr.yield %p : f32
  } combine {
  ^bb0(%m: f32, %p: f32):
    %s = arith.maximumf %m, %p : f32
    hr.yield %s : f32
  }
  %z = hr.map(%y) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: f32):
    %t = math.tanh %a : f32
    hr.yield %t : f32
  }
  return %z : tensor<8xf32>
}

// An index of a table is brought inside.
// CHECK-LABEL: func.func @table
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: tensor.extract
func.func @table(%t: tensor<5xf32>, %i: tensor<3xi64>) -> tensor<3xf32> {
  %y = hr.compute(%i) tables(%t) over affine_map<() -> (3)> maps [affine_map<(i) -> (i)>] : (tensor<3xi64>, tensor<5xf32>) -> tensor<3xf32> {
  ^bb0(%n: i64, %table: tensor<5xf32>):
    %at = arith.index_cast %n : i64 to index
    %v = hr.element %table[%at] : tensor<5xf32> -> f32
    hr.yield %v : f32
  }
  return %y : tensor<3xf32>
}

// Slices are read in place: one kernel, which takes them itself. Axes of a slice stay apart.
// CHECK-LABEL: func.func @differences
// CHECK: hr.kernel "{{.*}}"(%{{.*}}, %{{.*}}) of ["map"]
// CHECK: tensor.extract_slice %{{.*}}[0, 1] [4, 7] [1, 1]
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [4, 7] [1, 1]
// CHECK-NOT: hr.kernel
// CHECK: return
func.func @differences(%x: tensor<4x8xf32>) -> tensor<4x7xf32> {
  %a = hr.slice %x from affine_map<() -> (0, 1)> steps [1, 1] : (tensor<4x8xf32>) -> tensor<4x7xf32>
  %b = hr.slice %x from affine_map<() -> (0, 0)> steps [1, 1] : (tensor<4x8xf32>) -> tensor<4x7xf32>
  %d = hr.map(%a, %b) : (tensor<4x7xf32>, tensor<4x7xf32>) -> tensor<4x7xf32> {
  ^bb0(%p: f32, %q: f32):
    %s = arith.subf %p, %q : f32
    hr.yield %s : f32
  }
  return %d : tensor<4x7xf32>
}
