// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(form-kernels))' %s | FileCheck %s
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,form-kernels,compare-answers))' %s -o /dev/null

// A reduction of tuples: loops in each point of the result that carry the tuple in scalars.
// CHECK-LABEL: func @place_of_largest
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: %[[T:.*]]:2 = scf.for %[[K:.*]] = {{.*}} iter_args({{.*}}) -> (i64, f32)
// CHECK: tensor.extract %{{.*}}[%[[I]], %[[K]]]
// CHECK: linalg.yield %[[T]]#0 : i64
func.func @place_of_largest(%a: tensor<3x5xf32>) -> tensor<3xi64> {
  %i = hr.fold(%a) over affine_map<() -> (3, 5)> maps [affine_map<(i, k) -> (i, k)>]
      component 0 {reduced = 1, initial = [0, 0xFF800000 : f32]} : (tensor<3x5xf32>) -> tensor<3xi64> {
  ^bb0(%x: f32):
    %k = hr.index 1
    %p = arith.index_cast %k : index to i64
    hr.yield %p, %x : i64, f32
  } combine {
  ^bb0(%p: i64, %x: f32, %q: i64, %y: f32):
    %less = arith.cmpf olt, %x, %y : f32
    %n = arith.select %less, %q, %p : i64
    %m = arith.select %less, %y, %x : f32
    hr.yield %n, %m : i64, f32
  }
  return %i : tensor<3xi64>
}

// -----

// Over no elements it is the initial value of the component.
// CHECK-LABEL: func @largest_of_none
// CHECK: %[[START:.*]] = arith.constant 0xFF800000 : f32
// CHECK: linalg.fill ins(%[[START]] : f32)
func.func @largest_of_none(%a: tensor<3x0xf32>) -> tensor<3xf32> {
  %i = hr.fold(%a) over affine_map<() -> (3, 0)> maps [affine_map<(i, k) -> (i, k)>]
      component 1 {reduced = 1, initial = [0, 0xFF800000 : f32]} : (tensor<3x0xf32>) -> tensor<3xf32> {
  ^bb0(%x: f32):
    %k = hr.index 1
    %p = arith.index_cast %k : index to i64
    hr.yield %p, %x : i64, f32
  } combine {
  ^bb0(%p: i64, %x: f32, %q: i64, %y: f32):
    %less = arith.cmpf olt, %x, %y : f32
    %n = arith.select %less, %q, %p : i64
    %m = arith.select %less, %y, %x : f32
    hr.yield %n, %m : i64, f32
  }
  return %i : tensor<3xf32>
}
