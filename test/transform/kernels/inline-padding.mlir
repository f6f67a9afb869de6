// RUN: hr-opt %s --pass-pipeline='builtin.module(func.func(inline-padding))' | FileCheck %s

#cost = affine_map<() -> (256, 400, 0)>
#windows = affine_map<() -> (436, 256, 1152)>
#at = affine_map<(n, h, w, c, kh, kw) -> (n, h + kh, w + kw, c)>
#weight = affine_map<(n, h, w, c, kh, kw) -> (kh, kw, c)>
#sum = affine_map<(n, h, w, c, kh, kw) -> (n, h, w, c)>

// An image that only windows of few elements read is padded where it is read.
// CHECK-LABEL: func.func @windows(
// CHECK-SAME: %[[X:.*]]: tensor<1x4x4x4xf32>
// CHECK-NOT: "pad"
// CHECK: hr.kernel "conv"(%[[X]], %{{.*}}) of ["p", "y"] {cost = #[[COST:.*]]}
// CHECK: ^bb0(%[[IN:.*]]: tensor<1x4x4x4xf32>, %{{.*}}: tensor<3x3x4xf32>):
// CHECK: %[[P:.*]] = tensor.pad %[[IN]] low[0, 1, 1, 0] high[0, 1, 1, 0]
// CHECK: linalg.generic {{.*}} ins(%[[P]], %{{.*}}
func.func @windows(%x: tensor<1x4x4x4xf32>, %w: tensor<3x3x4xf32>) -> tensor<1x4x4x4xf32> {
  %p = hr.kernel "pad"(%x) of ["p"] {cost = #cost} : (tensor<1x4x4x4xf32>) -> tensor<1x6x6x4xf32> {
  ^bb0(%in: tensor<1x4x4x4xf32>):
    %zero = arith.constant 0.0 : f32
    %r = tensor.pad %in low[0, 1, 1, 0] high[0, 1, 1, 0] {
    ^bb1(%a: index, %b: index, %c: index, %d: index):
      tensor.yield %zero : f32
    } : tensor<1x4x4x4xf32> to tensor<1x6x6x4xf32>
    hr.yield %r : tensor<1x6x6x4xf32>
  }
  %y = hr.kernel "conv"(%p, %w) of ["y"] {cost = #windows} : (tensor<1x6x6x4xf32>, tensor<3x3x4xf32>) -> tensor<1x4x4x4xf32> {
  ^bb0(%in: tensor<1x6x6x4xf32>, %f: tensor<3x3x4xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<1x4x4x4xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
    %r = linalg.generic {indexing_maps = [#at, #weight, #sum],
        iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
        ins(%in, %f : tensor<1x6x6x4xf32>, tensor<3x3x4xf32>) outs(%z : tensor<1x4x4x4xf32>) {
    ^bb1(%a: f32, %b: f32, %s: f32):
      %m = arith.mulf %a, %b : f32
      %n = arith.addf %s, %m : f32
      linalg.yield %n : f32
    } -> tensor<1x4x4x4xf32>
    hr.yield %r : tensor<1x4x4x4xf32>
  }
  return %y : tensor<1x4x4x4xf32>
}

// What else is read, such as the program's result, keeps its kernel.
// CHECK-LABEL: func.func @returned(
// CHECK: hr.kernel "pad"
func.func @returned(%x: tensor<1x4x4x4xf32>) -> tensor<1x6x6x4xf32> {
  %p = hr.kernel "pad"(%x) of ["p"] {cost = #cost} : (tensor<1x4x4x4xf32>) -> tensor<1x6x6x4xf32> {
  ^bb0(%in: tensor<1x4x4x4xf32>):
    %zero = arith.constant 0.0 : f32
    %r = tensor.pad %in low[0, 1, 1, 0] high[0, 1, 1, 0] {
    ^bb1(%a: index, %b: index, %c: index, %d: index):
      tensor.yield %zero : f32
    } : tensor<1x4x4x4xf32> to tensor<1x6x6x4xf32>
    hr.yield %r : tensor<1x6x6x4xf32>
  }
  return %p : tensor<1x6x6x4xf32>
}
