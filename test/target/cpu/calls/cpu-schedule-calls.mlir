// RUN: hr-opt --pass-pipeline='builtin.module(func.func(cpu-schedule-calls))' %s | FileCheck %s

#bytes = affine_map<() -> (1, 8, 33, 16, 0, 0, 0, 0, 264, 16, 33, 33, 1, 0)>
#singles = affine_map<() -> (1, 256, 256, 256, 0, 0, 0, 0, 65536, 256, 256, 256)>
#attention = affine_map<() -> (1, 1, 96, 96, 8, 8, 0, 0, 4602678819172646912, 0, 0, 8, 0, 0, 8, 0, 0, 8, 0, 0, 0, 0, 0, 0, 8)>
#sort = affine_map<() -> (40, 100, 1, 5, 1)>
#cost = affine_map<() -> (0, 0, 0)>

// Constant weights of bytes lie in panels of 16 columns, with their sums: 3 panels of 64 * (1 + 4)
// bytes.
// CHECK-DAG: #[[CUT:.*]] = affine_map<() -> (1, 256, 256, 256, 0, 0, 0, 0, 65536, 256, 256, 256, 64, 0, 128)>
// CHECK-DAG: #[[BLOCKS:.*]] = affine_map<() -> (1, 1, 96, 96, 8, 8, {{.*}}, 8, 64, 0)>
// CHECK-DAG: #[[LINES:.*]] = affine_map<() -> (40, 100, 1, 5, 1, 8)>
// CHECK-LABEL: func.func @packed
// CHECK: hr.library "int8.packed_gemm"(%arg0, %{{.*}}) of ["gemm"] {
// CHECK-SAME: hr.called = "gemm/call"
// CHECK-SAME: hr.recipe = "call: int8.packed_gemm\0A"
// CHECK-SAME: (tensor<8x16xi8>, tensor<960xi8>) -> tensor<8x33xi32>
func.func @packed(%a: tensor<8x16xi8>) -> tensor<8x33xi32> {
  %w = hr.constant dense<-3> : tensor<16x33xi8>
  %0 = hr.library "int8.gemm"(%a, %w) of ["gemm"] {name = "gemm", parameters = #bytes, cost = #cost} : (tensor<8x16xi8>, tensor<16x33xi8>) -> tensor<8x33xi32>
  return %0 : tensor<8x33xi32>
}

// A recipe says otherwise.
// CHECK-LABEL: func.func @as_they_are
// CHECK: hr.library "int8.gemm"
// CHECK-SAME: hr.recipe = "call: int8.gemm\0A"
func.func @as_they_are(%a: tensor<8x16xi8>) -> tensor<8x33xi32>
    attributes {hr.given_kernels = [[1, "gemm/call", "call: int8.gemm"]]} {
  %w = hr.constant dense<-3> : tensor<16x33xi8>
  %0 = hr.library "int8.gemm"(%a, %w) of ["gemm"] {name = "gemm", parameters = #bytes, cost = #cost} : (tensor<8x16xi8>, tensor<16x33xi8>) -> tensor<8x33xi32>
  return %0 : tensor<8x33xi32>
}

// Blocks are further parameters.
// CHECK-LABEL: func.func @cut
// CHECK: hr.library "openblas.sgemm"
// CHECK-SAME: hr.recipe = "call: openblas.sgemm rows=64 columns=0 depth=128\0A"
// CHECK-SAME: parameters = #[[CUT]]
func.func @cut(%a: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hr.given_kernels = [[1, "gemm/call", "call: openblas.sgemm rows=64 depth=128"]]} {
  %0 = hr.library "openblas.sgemm"(%a, %a) of ["gemm"] {name = "gemm", parameters = #singles, cost = #cost} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}

// Attention is cut into blocks of scores.
// CHECK-LABEL: func.func @attention
// CHECK: hr.library "openblas.attention"
// CHECK-SAME: hr.recipe = "call: openblas.attention queries=64 keys=0\0A"
// CHECK-SAME: parameters = #[[BLOCKS]]
func.func @attention(%q: tensor<96x8xf32>) -> tensor<96x8xf32>
    attributes {hr.given_kernels = [[1, "attention/call", "call: openblas.attention queries=64"]]} {
  %0 = hr.library "openblas.attention"(%q, %q, %q) of ["attention"] {name = "attention", parameters = #attention, cost = #cost} : (tensor<96x8xf32>, tensor<96x8xf32>, tensor<96x8xf32>) -> tensor<96x8xf32>
  return %0 : tensor<96x8xf32>
}

// Threads take lines to sort, several at once.
// CHECK-LABEL: func.func @sorted
// CHECK: hr.library "sort.f32"
// CHECK-SAME: hr.recipe = "call: sort.f32 lines=8\0A"
// CHECK-SAME: parameters = #[[LINES]]
func.func @sorted(%x: tensor<40x100xf32>) -> tensor<40x5xi64>
    attributes {hr.given_kernels = [[1, "sort/call", "call: sort.f32 lines=8"]]} {
  %0 = hr.library "sort.f32"(%x) of ["sort"] {name = "sort", parameters = #sort, cost = #cost} : (tensor<40x100xf32>) -> tensor<40x5xi64>
  return %0 : tensor<40x5xi64>
}

// What cannot be followed is refused with the reason.
// CHECK-LABEL: func.func @refused
// CHECK: hr.recipe = "call: openblas.sgemm rows=0 columns=0 depth=0\0A"
// CHECK-SAME: hr.recipe_refused = "'call: openblas.sgemm rows=7 columns=0 depth=0': rows: expected 0, or at least 32"
func.func @refused(%a: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hr.given_kernels = [[1, "gemm/call", "call: openblas.sgemm rows=7"]]} {
  %0 = hr.library "openblas.sgemm"(%a, %a) of ["gemm"] {name = "gemm", parameters = #singles, cost = #cost} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}
