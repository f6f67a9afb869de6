// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-vectorize-steps{vector-bytes=32},cse))' --split-input-file %s | FileCheck %s

// Before: steps of a recurrent layer, each a product with weights and a function of elements, in which a gate is read at
// a constant index. After: sums of four rows at a time along vectors, and the function of vectors.
// CHECK-LABEL: func.func @steps
// CHECK: scf.for
// CHECK: scf.for {{.*}} step %c4
// CHECK: scf.for {{.*}} step %c8
// CHECK: arith.mulf {{.*}} : vector<{{.*}}4x8xf32>
// CHECK: vector.multi_reduction <add>
// CHECK: math.tanh {{.*}} : vector<{{.*}}16xf32>
// CHECK-NOT: linalg.generic
// CHECK: linalg.copy
#state = affine_map<(d0, d1, d2) -> (d0, d2)>
#weights = affine_map<(d0, d1, d2) -> (d1, d2)>
#sum = affine_map<(d0, d1, d2) -> (d0, d1)>
#gate = affine_map<(d0, d1) -> (d0, 1, d1)>
#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @steps(%gates: tensor<?x2x16xf32>, %first: tensor<?x16xf32>, %w: tensor<16x16xf32>, %n: index, %count: index) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x16xf32>
  %last = scf.for %i = %c0 to %count step %c1 iter_args(%h = %first) -> (tensor<?x16xf32>) {
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x16xf32>) -> tensor<?x16xf32>
    %z = linalg.generic {indexing_maps = [#state, #weights, #sum], iterator_types = ["parallel", "parallel", "reduction"]} ins(%h, %w : tensor<?x16xf32>, tensor<16x16xf32>) outs(%f : tensor<?x16xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %o, %p fastmath<reassoc> : f32
      linalg.yield %s : f32
    } -> tensor<?x16xf32>
    %t = linalg.generic {indexing_maps = [#gate, #same, #same], iterator_types = ["parallel", "parallel"]} ins(%gates, %z : tensor<?x2x16xf32>, tensor<?x16xf32>) outs(%e : tensor<?x16xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.addf %a, %b : f32
      %y = math.tanh %s : f32
      linalg.yield %y : f32
    } -> tensor<?x16xf32>
    %next = linalg.copy ins(%t : tensor<?x16xf32>) outs(%h : tensor<?x16xf32>) -> tensor<?x16xf32>
    scf.yield %next : tensor<?x16xf32>
  }
  return %last : tensor<?x16xf32>
}

// -----

// Rows that are no whole vectors, and sums in a given order, stay as they are.
// CHECK-LABEL: func.func @others
// CHECK: linalg.generic
// CHECK: linalg.generic
// CHECK-NOT: vector.
#row = affine_map<(d0) -> (d0)>
#all = affine_map<(d0) -> ()>
func.func @others(%x: tensor<7xf32>, %y: tensor<16xf32>, %first: tensor<7xf32>, %count: index) -> (tensor<7xf32>, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<7xf32>
  %s = tensor.empty() : tensor<f32>
  %a, %b = scf.for %i = %c0 to %count step %c1 iter_args(%h = %first, %t = %s) -> (tensor<7xf32>, tensor<f32>) {
    %z = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%h : tensor<7xf32>) outs(%e : tensor<7xf32>) {
    ^bb0(%p: f32, %o: f32):
      %m = arith.negf %p : f32
      linalg.yield %m : f32
    } -> tensor<7xf32>
    %u = linalg.generic {indexing_maps = [#row, #all], iterator_types = ["reduction"]} ins(%y : tensor<16xf32>) outs(%t : tensor<f32>) {
    ^bb0(%p: f32, %o: f32):
      %m = arith.subf %o, %p : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    scf.yield %z, %u : tensor<7xf32>, tensor<f32>
  }
  return %a, %b : tensor<7xf32>, tensor<f32>
}

// -----

// A single step has no loop, and is vectors all the same.
// CHECK-LABEL: func.func @one_step
// CHECK: arith.mulf {{.*}} : vector<{{.*}}4x8xf32>
// CHECK: vector.multi_reduction <add>
// CHECK-NOT: linalg.generic
#state = affine_map<(d0, d1) -> (d1)>
#weights = affine_map<(d0, d1) -> (d0, d1)>
#sum = affine_map<(d0, d1) -> (d0)>
func.func @one_step(%h: tensor<16xf32>, %w: tensor<16x16xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %z = linalg.generic {indexing_maps = [#state, #weights, #sum], iterator_types = ["parallel", "reduction"]} ins(%h, %w : tensor<16xf32>, tensor<16x16xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p fastmath<reassoc> : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %z : tensor<16xf32>
}

// -----

// Weights that lie along the results: tiles of results in registers, with a product of all rows added at a time. Bounds
// of all rows are reduced along vectors.
// CHECK-LABEL: func.func @columns
// CHECK: scf.for
// CHECK: scf.for {{.*}} step %c1
// CHECK: vector.transfer_read {{.*}} vector<{{.*}}3x{{.*}}16xf32>
// CHECK-NOT: linalg.generic
// CHECK: arith.maximumf {{.*}} : vector<3x8xf32>
// CHECK: vector.multi_reduction <maximumf>, {{.*}} : vector<3x8xf32> to f32
// CHECK-NOT: linalg.generic
// CHECK: return
#state = affine_map<(d0, d1, d2) -> (d0, d2)>
#weights = affine_map<(d0, d1, d2) -> (d2, d1)>
#sum = affine_map<(d0, d1, d2) -> (d0, d1)>
#all = affine_map<(d0, d1) -> (d0, d1)>
#one = affine_map<(d0, d1) -> ()>
func.func @columns(%first: tensor<3x16xf32>, %w: tensor<16x16xf32>, %count: index) -> (tensor<3x16xf32>, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x16xf32>
  %s = tensor.empty() : tensor<f32>
  %last, %bound = scf.for %i = %c0 to %count step %c1 iter_args(%h = %first, %b = %s) -> (tensor<3x16xf32>, tensor<f32>) {
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x16xf32>) -> tensor<3x16xf32>
    %z = linalg.generic {indexing_maps = [#state, #weights, #sum], iterator_types = ["parallel", "parallel", "reduction"]} ins(%h, %w : tensor<3x16xf32>, tensor<16x16xf32>) outs(%f : tensor<3x16xf32>) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %p = arith.mulf %a, %c : f32
      %y = arith.addf %o, %p fastmath<reassoc> : f32
      linalg.yield %y : f32
    } -> tensor<3x16xf32>
    %g = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
    %m = linalg.generic {indexing_maps = [#all, #one], iterator_types = ["reduction", "reduction"]} ins(%h : tensor<3x16xf32>) outs(%g : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %y = arith.maximumf %a, %o : f32
      linalg.yield %y : f32
    } -> tensor<f32>
    scf.yield %z, %m : tensor<3x16xf32>, tensor<f32>
  }
  return %last, %bound : tensor<3x16xf32>, tensor<f32>
}

// -----

// Two states that are functions of the same gates are computed together, and so a gate's function once.
// CHECK-LABEL: func.func @together
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: math.tanh
// CHECK-NOT: math.tanh
// CHECK-NOT: linalg.generic
// CHECK: return
#gate = affine_map<(d0, d1) -> (d1)>
#states = affine_map<(d0, d1) -> (d0, d1)>
func.func @together(%gates: tensor<16xf32>, %first: tensor<2x16xf32>, %count: index) -> tensor<2x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<2x16xf32>
  %last = scf.for %i = %c0 to %count step %c1 iter_args(%h = %first) -> (tensor<2x16xf32>) {
    %z = linalg.generic {indexing_maps = [#gate, #states], iterator_types = ["parallel", "parallel"]} ins(%gates : tensor<16xf32>) outs(%e : tensor<2x16xf32>) {
    ^bb0(%a: f32, %o: f32):
      %t = math.tanh %a : f32
      %x = math.exp %t : f32
      %s = linalg.index 0 : index
      %is = arith.cmpi eq, %s, %c0 : index
      %y = arith.select %is, %t, %x : f32
      linalg.yield %y : f32
    } -> tensor<2x16xf32>
    %next = linalg.copy ins(%z : tensor<2x16xf32>) outs(%h : tensor<2x16xf32>) -> tensor<2x16xf32>
    scf.yield %next : tensor<2x16xf32>
  }
  return %last : tensor<2x16xf32>
}
