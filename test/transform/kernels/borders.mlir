// RUN: hr-opt --pass-pipeline='builtin.module(func.func(form-kernels))' %s | FileCheck %s
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,form-kernels,compare-answers))' %s -o /dev/null

// Before: an image is computed, padded for a window, and read by others without its padding.
// After: the kernel that computes it writes the padded image; others read the middle of that.
// CHECK-LABEL: func.func @inside
// CHECK: %[[P:.*]] = hr.kernel "map"(%{{.*}}) {{.*}} -> tensor<6x6x16xf32>
// CHECK: linalg.generic
// CHECK: tensor.pad %{{.*}} low[1, 1, 0] high[1, 1, 0]
// CHECK: hr.kernel "pool"
// CHECK-NOT: tensor.pad
// CHECK: tensor.extract_slice %{{.*}}[{{.*}}1, 1, 0] [{{.*}}4, 4, 16]
// CHECK: return
func.func @inside(%x: tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32> {
  %y = hr.map(%x) : (tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32> {
  ^bb0(%a: f32):
    %r = math.exp %a : f32
    hr.yield %r : f32
  }
  %p = hr.pad %y {high = array<i64: 0, 1, 1, 0>, low = array<i64: 0, 1, 1, 0>, value = 0.0 : f32}
      : (tensor<1x4x4x16xf32>) -> tensor<1x6x6x16xf32>
  %z = hr.pool max channels_last %p {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>, window = array<i64: 3, 3>}
      : (tensor<1x6x6x16xf32>) -> tensor<1x4x4x16xf32>
  %s = hr.map(%y, %z) : (tensor<1x4x4x16xf32>, tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32> {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    hr.yield %r : f32
  }
  return %s : tensor<1x4x4x16xf32>
}

// An image that is a result of the program, too, is needed in one piece: padding stays apart.
// CHECK-LABEL: func.func @result
// CHECK: hr.kernel "map"{{.*}} -> tensor<{{64|4x16}}xf32>
// CHECK: hr.kernel {{.*}}pad{{.*}} -> tensor<6x16xf32>
// CHECK: return
func.func @result(%x: tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<6x16xf32>) {
  %y = hr.map(%x) : (tensor<4x16xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: f32):
    %r = math.exp %a : f32
    hr.yield %r : f32
  }
  %p = hr.pad %y {high = array<i64: 1, 0>, low = array<i64: 1, 0>, value = 0.0 : f32} : (tensor<4x16xf32>) -> tensor<6x16xf32>
  return %y, %p : tensor<4x16xf32>, tensor<6x16xf32>
}

// Neither what cuts off, nor what pads along vectors, is written by the kernel before it.
// CHECK-LABEL: func.func @apart
// CHECK: hr.kernel "map"
// CHECK: hr.kernel {{.*}}pad{{.*}} -> tensor<4x18xf32>
// CHECK: hr.kernel "map"
// CHECK: hr.kernel {{.*}}pad{{.*}} -> tensor<3x16xf32>
// CHECK: return
func.func @apart(%x: tensor<4x16xf32>, %w: tensor<4x16xf32>) -> (tensor<4x18xf32>, tensor<3x16xf32>) {
  %y = hr.map(%x) : (tensor<4x16xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: f32):
    %r = math.exp %a : f32
    hr.yield %r : f32
  }
  %p = hr.pad %y {high = array<i64: 0, 1>, low = array<i64: 0, 1>, value = 0.0 : f32} : (tensor<4x16xf32>) -> tensor<4x18xf32>
  %v = hr.map(%w) : (tensor<4x16xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: f32):
    %r = math.tanh %a : f32
    hr.yield %r : f32
  }
  %q = hr.pad %v {high = array<i64: -1, 0>, low = array<i64: 0, 0>, value = 0.0 : f32} : (tensor<4x16xf32>) -> tensor<3x16xf32>
  return %p, %q : tensor<4x18xf32>, tensor<3x16xf32>
}
