// RUN: hr-opt --pass-pipeline='builtin.module(func.func(expand-operators,form-kernels))' %s | FileCheck %s
// RUN: hr-opt --pass-pipeline='builtin.module(func.func(expand-operators,form-kernels{shared-vector-bytes=64}))' %s | FileCheck %s --check-prefix=WIDE
// RUN: hr-opt --split-input-file --pass-pipeline='builtin.module(func.func(keep-answers,expand-operators,form-kernels,compare-answers))' %s -o /dev/null

// Before: a chain of maps, each of which would write its result to memory.
// After: one kernel with one loop body and no intermediate; 4x8 is walked as 32.
// CHECK-LABEL: func.func @mish
// CHECK: %[[X:.*]] = hr.reshape %arg0 : (tensor<4x8xf32>) -> tensor<32xf32>
// CHECK: hr.kernel "map"(%[[X]]) {{.*}} : (tensor<32xf32>) -> tensor<32xf32>
// CHECK-COUNT-1: linalg.generic
// CHECK: ^bb0(%[[IN:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[E:.*]] = math.exp %[[IN]]
// CHECK-NEXT: %[[S:.*]] = math.log1p %[[E]]
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[S]]
// CHECK-NEXT: arith.mulf %[[IN]], %[[T]]
// CHECK-NOT: linalg.generic
// CHECK-NOT: hr.kernel
// CHECK: return
func.func @mish(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = hr.map(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: f32):
    %r = math.exp %a : f32
    hr.yield %r : f32
  }
  %s = hr.map(%e) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: f32):
    %r = math.log1p %a : f32
    hr.yield %r : f32
  }
  %t = hr.map(%s) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: f32):
    %r = math.tanh %a : f32
    hr.yield %r : f32
  }
  %y = hr.map(%x, %t) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: f32, %b: f32):
    %r = arith.mulf %a, %b : f32
    hr.yield %r : f32
  }
  return %y : tensor<4x8xf32>
}

// Rows stay in one kernel: maximum, exponential, sum and quotient share the loop over rows.
// CHECK-LABEL: func.func @softmax
// CHECK-COUNT-1: hr.kernel
// CHECK-NOT: hr.kernel
// CHECK: return
func.func @softmax(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %y = hr.softmax %x {axis = 1 : i64} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  return %y : tensor<4x64xf32>
}

// CHECK-LABEL: func.func @layer_norm
// CHECK-COUNT-1: hr.kernel
// CHECK-NOT: hr.kernel
// CHECK: return
func.func @layer_norm(%x: tensor<4x64xf32>, %s: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<4x64xf32> {
  %y = hr.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<4x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<4x64xf32>
  return %y : tensor<4x64xf32>
}

// Element-wise work on a convolution's result joins it, and the weights are packed by tiles of 16
// features; where a machine with vectors twice as wide shares them, of 32.
// WIDE-LABEL: func.func @residual
// WIDE: hr.transpose %{{.*}} [0, 1, 2, 3] : (tensor<3x3x16x32xf32>)
// CHECK-LABEL: func.func @residual
// CHECK: hr.transpose %{{.*}} [3, 0, 1, 2, 4] : (tensor<3x3x16x2x16xf32>) -> tensor<2x3x3x16x16xf32>
// CHECK: hr.kernel "conv"({{.*}}) of ["conv", "map"]
// CHECK: linalg.fill
// CHECK: linalg.generic
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK-NEXT: arith.addf
// CHECK-NEXT: arith.maximumf
// CHECK-NOT: hr.kernel
// CHECK: return
func.func @residual(%x: tensor<1x10x10x16xf32>, %skip: tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32> {
  %w = hr.constant dense<0.5> : tensor<3x3x16x32xf32>
  %bias = hr.constant dense<0.25> : tensor<32xf32>
  %c = hr.conv channels_last %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 1 : i64}
      : (tensor<1x10x10x16xf32>, tensor<3x3x16x32xf32>) -> tensor<1x8x8x32xf32>
  %y = hr.map(%c, %bias, %skip) : (tensor<1x8x8x32xf32>, tensor<32xf32>, tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32> {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %0, %s : f32
    hr.yield %1 : f32
  }
  %z = hr.map(%y) : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32> {
  ^bb0(%a: f32):
    %zero = arith.constant 0.0 : f32
    %1 = arith.maximumf %a, %zero : f32
    hr.yield %1 : f32
  }
  return %z : tensor<1x8x8x32xf32>
}

// A value that two kernels read is computed once, in a kernel of its own.
// CHECK-LABEL: func.func @diamond
// CHECK: %[[FLAT:.*]] = hr.kernel "map"
// CHECK: %[[SHARED:.*]] = hr.reshape %[[FLAT]]
// CHECK: hr.kernel "contract"(%[[SHARED]], %{{.*}})
// CHECK: hr.kernel "contract"(%[[SHARED]], %{{.*}})
func.func @diamond(%x: tensor<7x33xf32>, %v: tensor<33x5xf32>, %w: tensor<33x6xf32>) -> (tensor<7x5xf32>, tensor<7x6xf32>) {
  %e = hr.map(%x) : (tensor<7x33xf32>) -> tensor<7x33xf32> {
  ^bb0(%a: f32):
    %r = math.exp %a : f32
    hr.yield %r : f32
  }
  %0 = hr.contract %e, %v maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : (tensor<7x33xf32>, tensor<33x5xf32>) -> tensor<7x5xf32>
  %1 = hr.contract %e, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : (tensor<7x33xf32>, tensor<33x6xf32>) -> tensor<7x6xf32>
  return %0, %1 : tensor<7x5xf32>, tensor<7x6xf32>
}

// A value that one kernel reads in two ways is its operand twice.
// CHECK-LABEL: func.func @square
// CHECK: hr.kernel "contract"(%arg0, %arg0)
func.func @square(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %c = hr.contract %a, %a maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %c : tensor<8x8xf32>
}

// Nothing to reduce: the neutral element, and no operand.
// CHECK-LABEL: func.func @nothing
// CHECK: hr.kernel "reduce"() {{.*}} : () -> tensor<3xf32>
// CHECK: %[[LOWEST:.*]] = arith.constant 0xFF800000 : f32
// CHECK: linalg.fill {{.*}}ins(%[[LOWEST]] : f32)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @nothing(%a: tensor<3x0xf32>) -> tensor<3xf32> {
  %s = hr.reduce max %a axes [1] : (tensor<3x0xf32>) -> tensor<3xf32>
  return %s : tensor<3xf32>
}

// A window with one position reads the beginning of the image.
// CHECK-LABEL: func.func @one_position
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 0] [3, 3, 8] [1, 1, 1] : tensor<4x4x8xf32> to tensor<3x3x8xf32>
func.func @one_position(%x: tensor<1x4x4x8xf32>) -> tensor<1x1x1x8xf32> {
  %p = hr.pool max channels_last %x {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
      : (tensor<1x4x4x8xf32>) -> tensor<1x1x1x8xf32>
  return %p : tensor<1x1x1x8xf32>
}

// Only unit dimensions change places: a view, no kernel.
// CHECK-LABEL: func.func @view
// CHECK-NOT: hr.kernel
// CHECK: hr.reshape
// CHECK-NOT: hr.kernel
// CHECK: return
func.func @view(%x: tensor<8x1xf32>) -> tensor<1x8xf32> {
  %t = hr.transpose %x [1, 0] : (tensor<8x1xf32>) -> tensor<1x8xf32>
  return %t : tensor<1x8xf32>
}

// Before: two sums that read %x, 8192 points each.
// After: one kernel reads it once and leaves a partial sum per block; two small ones add those up.
// CHECK-LABEL: func.func @two_sums
// CHECK: %[[P:.*]]:2 = hr.kernel "reduce"({{.*}}) of ["map", "reduce"] {{.*}} -> (tensor<[[B:[0-9]+]]xf64>, tensor<[[B]]xf64>)
// CHECK: scf.forall (%[[BLOCK:.*]]) in ([[B]])
// CHECK-COUNT-3: tensor.extract_slice
// CHECK-COUNT-2: linalg.generic
// CHECK: tensor.parallel_insert_slice %{{.*}} into %{{.*}}[%[[BLOCK]]] [1] [1]
// CHECK: hr.kernel "reduce"(%[[P]]#0)
// CHECK: hr.kernel "reduce"(%[[P]]#1)
// CHECK-NOT: hr.kernel
// CHECK: return
func.func @two_sums(%x: tensor<4096x64xf64>, %y: tensor<4096x64xf64>, %z: tensor<4096x64xf64>) -> (tensor<f64>, tensor<f64>) {
  %0 = hr.map(%x, %y) : (tensor<4096x64xf64>, tensor<4096x64xf64>) -> tensor<4096x64xf64> {
  ^bb0(%a: f64, %b: f64):
    %r = arith.mulf %a, %b : f64
    hr.yield %r : f64
  }
  %1 = hr.map(%x, %z) : (tensor<4096x64xf64>, tensor<4096x64xf64>) -> tensor<4096x64xf64> {
  ^bb0(%a: f64, %b: f64):
    %r = arith.mulf %a, %b : f64
    hr.yield %r : f64
  }
  %s = hr.reduce sum %0 axes [0, 1] : (tensor<4096x64xf64>) -> tensor<f64>
  %t = hr.reduce sum %1 axes [0, 1] : (tensor<4096x64xf64>) -> tensor<f64>
  return %s, %t : tensor<f64>, tensor<f64>
}

// t(X) (X v): both products on the same rows.
// CHECK-LABEL: func.func @row_chain
// CHECK: hr.kernel "contract"(%arg0, %arg1) of ["contract"]
// CHECK: scf.forall
// CHECK: %[[ROWS:.*]] = tensor.extract_slice
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]} ins(%[[ROWS]], %{{.*}}
// CHECK: linalg.generic {{.*}}["reduction", "parallel"]} ins(%[[ROWS]], %{{.*}}
// CHECK: hr.kernel "reduce"
// CHECK-NOT: hr.kernel
// CHECK: return
func.func @row_chain(%x: tensor<4096x64xf64>, %v: tensor<64xf64>) -> tensor<64xf64> {
  %q = hr.contract %x, %v maps [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c)>, affine_map<(r, c) -> (r)>]
      : (tensor<4096x64xf64>, tensor<64xf64>) -> tensor<4096xf64>
  %o = hr.contract %x, %q maps [affine_map<(c, r) -> (r, c)>, affine_map<(c, r) -> (r)>, affine_map<(c, r) -> (c)>]
      : (tensor<4096x64xf64>, tensor<4096xf64>) -> tensor<64xf64>
  return %o : tensor<64xf64>
}

// A value that other operators need is stored on the way.
// CHECK-LABEL: func.func @stored
// CHECK: hr.kernel "map"({{.*}}) -> (tensor<4096xf32>, tensor<4096xf32>)
// CHECK-NOT: hr.kernel
// CHECK: return
func.func @stored(%x: tensor<4096xf32>) -> (tensor<4096xf32>, tensor<4096xf32>) {
  %e = hr.map(%x) : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%a: f32):
    %r = math.exp %a : f32
    hr.yield %r : f32
  }
  %l = hr.map(%e) : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%a: f32):
    %r = math.log1p %a : f32
    hr.yield %r : f32
  }
  return %e, %l : tensor<4096xf32>, tensor<4096xf32>
}

// The sum over all rows is there only after the loop: what needs it is another kernel, although it
// reads the same rows.
// CHECK-LABEL: func.func @after_all_rows
// CHECK: hr.kernel "reduce"(%{{.*}}) of ["reduce"]
// CHECK: hr.kernel "reduce"
// CHECK: hr.kernel "map"
// CHECK: return
func.func @after_all_rows(%x: tensor<4096x64xf64>) -> tensor<4096x64xf64> {
  %s = hr.reduce sum %x axes [0] : (tensor<4096x64xf64>) -> tensor<64xf64>
  %y = hr.map(%x, %s) : (tensor<4096x64xf64>, tensor<64xf64>) -> tensor<4096x64xf64> {
  ^bb0(%a: f64, %b: f64):
    %r = arith.subf %a, %b : f64
    hr.yield %r : f64
  }
  return %y : tensor<4096x64xf64>
}

// A row of one element is no loop, and the sum over it adds to what it finds: it is not repeated for
// every element that it is spread over.
// CHECK-LABEL: func.func @spread_row_of_one
// CHECK: linalg.generic {{.*}}iterator_types = []
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} fastmath<reassoc> : f32
// CHECK: } -> (tensor<f32>, tensor<f32>)
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]{{.*}} outs(%{{[0-9]+}} : tensor<5xf32>)
func.func @spread_row_of_one(%x: tensor<1x1xf32>, %z: tensor<5x1xf32>) -> tensor<5x1xf32> {
  %y = hr.softmax %x {axis = 1 : i64} : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %r = hr.map(%z, %y) : (tensor<5x1xf32>, tensor<1x1xf32>) -> tensor<5x1xf32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    hr.yield %s : f32
  }
  return %r : tensor<5x1xf32>
}

// What is picked of a table, or sliced, is written where it is joined.
// CHECK-LABEL: func.func @join
// CHECK: hr.kernel "concat"(%arg0, %arg1, %arg2) of ["gather", "slice", "concat"]
// CHECK-NOT: hr.kernel
// CHECK: return
func.func @join(%t: tensor<9x16xf32>, %i: tensor<8xi64>, %x: tensor<8x16xf32>) -> tensor<8x24xf32> {
  %g = hr.gather %t, %i {axis = 0 : i64} : (tensor<9x16xf32>, tensor<8xi64>) -> tensor<8x16xf32>
  %s = hr.slice %x from affine_map<() -> (0, 3)> steps [1, 1] : (tensor<8x16xf32>) -> tensor<8x8xf32>
  %y = hr.concat %g, %s {axis = 1 : i64} : (tensor<8x16xf32>, tensor<8x8xf32>) -> tensor<8x24xf32>
  return %y : tensor<8x24xf32>
}

// Constant weights whose columns no tile divides lie along the columns, whatever order they came
// in: vectors of columns are read.
// CHECK-LABEL: func.func @odd_columns
// CHECK: %[[T:.*]] = hr.transpose %{{.*}} [1, 0] : (tensor<250x32xf32>) -> tensor<32x250xf32>
// CHECK: hr.kernel "contract"(%{{[a-z0-9]+}}, %[[T]], %{{[a-z0-9]+}})
// CHECK-SAME: hr.form = {columns = 1 : i64, features = 250 : i64}
func.func @odd_columns(%x: tensor<?x32xf32, affine_map<()[s0] -> (s0, 32)>>) -> tensor<?x250xf32, affine_map<()[s0] -> (s0, 250)>> attributes {hr.symbols = ["m"]} {
  %w = hr.constant dense<0.5> : tensor<250x32xf32>
  %bias = hr.constant dense<0.25> : tensor<250xf32>
  %y = hr.contract %x, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : (tensor<?x32xf32, affine_map<()[s0] -> (s0, 32)>>, tensor<250x32xf32>) -> tensor<?x250xf32, affine_map<()[s0] -> (s0, 250)>>
  %z = hr.map(%y, %bias) : (tensor<?x250xf32, affine_map<()[s0] -> (s0, 250)>>, tensor<250xf32>) -> tensor<?x250xf32, affine_map<()[s0] -> (s0, 250)>> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    hr.yield %s : f32
  }
  return %z : tensor<?x250xf32, affine_map<()[s0] -> (s0, 250)>>
}
