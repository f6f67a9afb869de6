// RUN: hr-opt --pass-pipeline='builtin.module(cpu-attach-recipe)' --split-input-file %s | FileCheck %s

// Before: a kernel, as linalg over tensors.
// After: the kernel as it was, and its recipe as text.
// CHECK: module @relu attributes {hr.kind = "vectors", hr.loops = "d0.o 7 | d0.v 16"
// CHECK-SAME: hr.recipe = "map: split d0 by 16 -> d0.o d0.v\0Amap: vectorize d0.v\0A", hr.recipe_chosen}
// CHECK: func.func @relu
// CHECK: linalg.generic
#same = affine_map<(d0) -> (d0)>
module @relu {
  func.func @relu(%in: memref<100xf32>, %out: memref<100xf32>) {
    %zero = arith.constant 0.0 : f32
    %x = bufferization.to_tensor %in restrict : memref<100xf32>
    %e = tensor.empty() : tensor<100xf32>
    %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%x : tensor<100xf32>) outs(%e : tensor<100xf32>) attrs = {hr.stage = "map"} {
    ^bb0(%a: f32, %b: f32):
      %m = arith.maximumf %a, %zero : f32
      linalg.yield %m : f32
    } -> tensor<100xf32>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<100xf32>, memref<100xf32>) -> ()
    return
  }
}

// -----

// A recipe that is there already is kept.
// CHECK: module @given attributes {hr.kind = "loops", hr.loops = "d0 64", hr.recipe = "map: parallel d0", hr.slices = array<i64: 64, 0, 1>}
#same = affine_map<(d0) -> (d0)>
module @given attributes {hr.recipe = "map: parallel d0"} {
  func.func @given(%in: memref<64xf32>, %out: memref<64xf32>) {
    %x = bufferization.to_tensor %in restrict : memref<64xf32>
    %e = tensor.empty() : tensor<64xf32>
    %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) attrs = {hr.stage = "map"} {
    ^bb0(%a: f32, %b: f32):
      %m = arith.negf %a : f32
      linalg.yield %m : f32
    } -> tensor<64xf32>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<64xf32>, memref<64xf32>) -> ()
    return
  }
}

// -----

// A contraction is tiled for registers; booleans stay plain loops.
// CHECK: module @dense attributes {hr.kind = "tiles", hr.loops = "d0.g 2 || d2 24 | d0.c 4, d1 16"
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#res = affine_map<(m, n, k) -> (m, n)>
module @dense {
  func.func @dense(%a: memref<8x24xf32>, %w: memref<24x16xf32>, %out: memref<8x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %0 = bufferization.to_tensor %a restrict : memref<8x24xf32>
    %1 = bufferization.to_tensor %w restrict : memref<24x16xf32>
    %e = tensor.empty() : tensor<8x16xf32>
    %init = linalg.fill {hr.stage = "contract"} ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
    %p = linalg.generic {indexing_maps = [#lhs, #rhs, #res], iterator_types = ["parallel", "parallel", "reduction"]} ins(%0, %1 : tensor<8x24xf32>, tensor<24x16xf32>) outs(%init : tensor<8x16xf32>) attrs = {hr.stage = "contract"} {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %m = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %m : f32
      linalg.yield %s : f32
    } -> tensor<8x16xf32>
    bufferization.materialize_in_destination %p in restrict writable %out : (tensor<8x16xf32>, memref<8x16xf32>) -> ()
    return
  }
}

// -----

// CHECK: module @flags attributes {hr.kind = "loops"
#same = affine_map<(d0) -> (d0)>
module @flags {
  func.func @flags(%in: memref<64xi1>, %out: memref<64xi1>) {
    %x = bufferization.to_tensor %in restrict : memref<64xi1>
    %e = tensor.empty() : tensor<64xi1>
    %y = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%x : tensor<64xi1>) outs(%e : tensor<64xi1>) attrs = {hr.stage = "map"} {
    ^bb0(%a: i1, %b: i1):
      %m = arith.andi %a, %a : i1
      linalg.yield %m : i1
    } -> tensor<64xi1>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<64xi1>, memref<64xi1>) -> ()
    return
  }
}

// -----

// Rows of the right side that lie far apart are packed, a panel of columns at a time. Rows of the
// left side, 8192 bytes apart, meet in the cache: no more of them than it holds are read at a time.
// CHECK: module @product attributes {hr.kind = "tiles", hr.loops = "d1.g 37 || d0.o {{[0-9]+}}, d2 2048 | d0.t {{[1-8]}}, d1.c {{[0-9]+}}"
// CHECK-SAME: contract: pack in1 at d1.g
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#res = affine_map<(m, n, k) -> (m, n)>
module @product {
  func.func @product(%a: memref<512x2048xf32>, %w: memref<2048x592xf32>, %out: memref<512x592xf32>) {
    %zero = arith.constant 0.0 : f32
    %0 = bufferization.to_tensor %a restrict : memref<512x2048xf32>
    %1 = bufferization.to_tensor %w restrict : memref<2048x592xf32>
    %e = tensor.empty() : tensor<512x592xf32>
    %init = linalg.fill {hr.stage = "contract"} ins(%zero : f32) outs(%e : tensor<512x592xf32>) -> tensor<512x592xf32>
    %p = linalg.generic {indexing_maps = [#lhs, #rhs, #res], iterator_types = ["parallel", "parallel", "reduction"]} ins(%0, %1 : tensor<512x2048xf32>, tensor<2048x592xf32>) outs(%init : tensor<512x592xf32>) attrs = {hr.stage = "contract"} {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %m = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %m : f32
      linalg.yield %s : f32
    } -> tensor<512x592xf32>
    bufferization.materialize_in_destination %p in restrict writable %out : (tensor<512x592xf32>, memref<512x592xf32>) -> ()
    return
  }
}

// -----

// A size that is open can be columns of a tile: vectors, and what they leave over.
// CHECK: module @open_columns attributes {hr.kind = "tiles", hr.loops = "d1.g ? || d1.o 1, d2 24 | d0 6, d1.t {{[0-9]+}}"
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#res = affine_map<(m, n, k) -> (m, n)>
module @open_columns {
  func.func @open_columns(%a: memref<6x24xf32>, %w: memref<24x?xf32>, %out: memref<6x?xf32>) {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1 : index
    %0 = bufferization.to_tensor %a restrict : memref<6x24xf32>
    %1 = bufferization.to_tensor %w restrict : memref<24x?xf32>
    %n = tensor.dim %1, %one : tensor<24x?xf32>
    %e = tensor.empty(%n) : tensor<6x?xf32>
    %init = linalg.fill {hr.stage = "contract"} ins(%zero : f32) outs(%e : tensor<6x?xf32>) -> tensor<6x?xf32>
    %p = linalg.generic {indexing_maps = [#lhs, #rhs, #res], iterator_types = ["parallel", "parallel", "reduction"]} ins(%0, %1 : tensor<6x24xf32>, tensor<24x?xf32>) outs(%init : tensor<6x?xf32>) attrs = {hr.stage = "contract"} {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %m = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %m : f32
      linalg.yield %s : f32
    } -> tensor<6x?xf32>
    bufferization.materialize_in_destination %p in restrict writable %out : (tensor<6x?xf32>, memref<6x?xf32>) -> ()
    return
  }
}

// -----

// Rows are those of an open number rather than the two of a batch, which would leave registers unused.
// CHECK: module @pairs attributes {hr.kind = "tiles", hr.loops = "{{.*}}d3 24 | d1.t {{[0-9]+}}, d2 16"
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (k, n)>
#res = affine_map<(b, m, n, k) -> (b, m, n)>
module @pairs {
  func.func @pairs(%a: memref<2x?x24xf32>, %w: memref<24x16xf32>, %out: memref<2x?x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1 : index
    %0 = bufferization.to_tensor %a restrict : memref<2x?x24xf32>
    %1 = bufferization.to_tensor %w restrict : memref<24x16xf32>
    %n = tensor.dim %0, %one : tensor<2x?x24xf32>
    %e = tensor.empty(%n) : tensor<2x?x16xf32>
    %init = linalg.fill {hr.stage = "contract"} ins(%zero : f32) outs(%e : tensor<2x?x16xf32>) -> tensor<2x?x16xf32>
    %p = linalg.generic {indexing_maps = [#lhs, #rhs, #res], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%0, %1 : tensor<2x?x24xf32>, tensor<24x16xf32>) outs(%init : tensor<2x?x16xf32>) attrs = {hr.stage = "contract"} {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %m = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %m : f32
      linalg.yield %s : f32
    } -> tensor<2x?x16xf32>
    bufferization.materialize_in_destination %p in restrict writable %out : (tensor<2x?x16xf32>, memref<2x?x16xf32>) -> ()
    return
  }
}

// -----

// Columns that no full vector divides are cut into tiles that use most of their vectors, not into halves of one.
// CHECK: module @sixty attributes {hr.kind = "tiles", hr.loops = "{{.*}}d2 24 | d0.{{[a-z]}} {{[0-9]+}}, d1.{{[a-z]}} {{15|30}}"
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#res = affine_map<(m, n, k) -> (m, n)>
module @sixty {
  func.func @sixty(%a: memref<64x24xf32>, %w: memref<24x60xf32>, %out: memref<64x60xf32>) {
    %zero = arith.constant 0.0 : f32
    %0 = bufferization.to_tensor %a restrict : memref<64x24xf32>
    %1 = bufferization.to_tensor %w restrict : memref<24x60xf32>
    %e = tensor.empty() : tensor<64x60xf32>
    %init = linalg.fill {hr.stage = "contract"} ins(%zero : f32) outs(%e : tensor<64x60xf32>) -> tensor<64x60xf32>
    %p = linalg.generic {indexing_maps = [#lhs, #rhs, #res], iterator_types = ["parallel", "parallel", "reduction"]} ins(%0, %1 : tensor<64x24xf32>, tensor<24x60xf32>) outs(%init : tensor<64x60xf32>) attrs = {hr.stage = "contract"} {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %m = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %m : f32
      linalg.yield %s : f32
    } -> tensor<64x60xf32>
    bufferization.materialize_in_destination %p in restrict writable %out : (tensor<64x60xf32>, memref<64x60xf32>) -> ()
    return
  }
}

// -----

// Bytes are converted in vectors whose length is a power of two: LLVM would take others apart.
// CHECK: module @bytes attributes {hr.kind = "vectors", hr.loops = "d0 5 || d1.o 3 | d1.v 4"
#both = affine_map<(d0, d1) -> (d0, d1)>
module @bytes {
  func.func @bytes(%in: memref<5x12xi8>, %out: memref<5x12xf32>) {
    %x = bufferization.to_tensor %in restrict : memref<5x12xi8>
    %e = tensor.empty() : tensor<5x12xf32>
    %y = linalg.generic {indexing_maps = [#both, #both], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x12xi8>) outs(%e : tensor<5x12xf32>) attrs = {hr.stage = "map"} {
    ^bb0(%a: i8, %b: f32):
      %m = arith.sitofp %a : i8 to f32
      linalg.yield %m : f32
    } -> tensor<5x12xf32>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<5x12xf32>, memref<5x12xf32>) -> ()
    return
  }
}

// -----

// A right side that lies along what is summed up is copied into the order of the columns, a matrix at a time.
// CHECK: module @turned attributes {hr.kind = "tiles", hr.loops = "d0.g {{[0-9]+}} || d0.c {{[0-9]+}}, d1.o {{[0-9]+}}, d3 64 | d1.t {{[0-9]+}}, d2 {{[0-9]+}}"
// CHECK-SAME: contract: pack in1 at d0.c
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, n, k)>
#res = affine_map<(b, m, n, k) -> (b, m, n)>
module @turned {
  func.func @turned(%a: memref<512x28x64xf32>, %w: memref<512x8x64xf32>, %out: memref<512x28x8xf32>) {
    %zero = arith.constant 0.0 : f32
    %0 = bufferization.to_tensor %a restrict : memref<512x28x64xf32>
    %1 = bufferization.to_tensor %w restrict : memref<512x8x64xf32>
    %e = tensor.empty() : tensor<512x28x8xf32>
    %init = linalg.fill {hr.stage = "contract"} ins(%zero : f32) outs(%e : tensor<512x28x8xf32>) -> tensor<512x28x8xf32>
    %p = linalg.generic {indexing_maps = [#lhs, #rhs, #res], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%0, %1 : tensor<512x28x64xf32>, tensor<512x8x64xf32>) outs(%init : tensor<512x28x8xf32>) attrs = {hr.stage = "contract"} {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %m = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %m : f32
      linalg.yield %s : f32
    } -> tensor<512x28x8xf32>
    bufferization.materialize_in_destination %p in restrict writable %out : (tensor<512x28x8xf32>, memref<512x28x8xf32>) -> ()
    return
  }
}

// -----

// Rows of open length have vectors, and so have functions of them along the row; what there is one
// of per row has none.
// CHECK: module @softmax attributes {hr.kind = "rows", hr.loops = "d0 ? || d1.o ? | d1.v 16"
// CHECK-SAME: reduce: split d1 by 16
// CHECK-SAME: map: split d1 by 16
#point = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
module @softmax {
  func.func @softmax(%in: memref<?x?xf32>, %out: memref<?x?xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %lowest = arith.constant 0xFF800000 : f32
    %x = bufferization.to_tensor %in restrict : memref<?x?xf32>
    %m = tensor.dim %x, %c0 : tensor<?x?xf32>
    %n = tensor.dim %x, %c1 : tensor<?x?xf32>
    %e = tensor.empty(%m) : tensor<?xf32>
    %init = linalg.fill {hr.stage = "reduce"} ins(%lowest : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    %max = linalg.generic {indexing_maps = [#point, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x?xf32>) outs(%init : tensor<?xf32>) attrs = {hr.stage = "reduce"} {
    ^bb0(%a: f32, %acc: f32):
      %s = arith.maximumf %acc, %a : f32
      linalg.yield %s : f32
    } -> tensor<?xf32>
    %r = tensor.empty(%m, %n) : tensor<?x?xf32>
    %y = linalg.generic {indexing_maps = [#point, #row, #point], iterator_types = ["parallel", "parallel"]} ins(%x, %max : tensor<?x?xf32>, tensor<?xf32>) outs(%r : tensor<?x?xf32>) attrs = {hr.stage = "map"} {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %s = arith.subf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<?x?xf32>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<?x?xf32>, memref<?x?xf32>) -> ()
    return
  }
}

// -----

// A kernel that reduces in plain loops says why.
// CHECK: module @flags_of_rows attributes {hr.kind = "loops"
// CHECK-SAME: hr.recipe_notes = "plain loops: booleans are not computed in vectors"
#point = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
module @flags_of_rows {
  func.func @flags_of_rows(%in: memref<8x64xi1>, %out: memref<8xi1>) {
    %no = arith.constant false
    %x = bufferization.to_tensor %in restrict : memref<8x64xi1>
    %e = tensor.empty() : tensor<8xi1>
    %init = linalg.fill {hr.stage = "reduce"} ins(%no : i1) outs(%e : tensor<8xi1>) -> tensor<8xi1>
    %y = linalg.generic {indexing_maps = [#point, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xi1>) outs(%init : tensor<8xi1>) attrs = {hr.stage = "reduce"} {
    ^bb0(%a: i1, %acc: i1):
      %s = arith.ori %acc, %a : i1
      linalg.yield %s : i1
    } -> tensor<8xi1>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<8xi1>, memref<8xi1>) -> ()
    return
  }
}

// -----

// Weights are read as a whole, whatever part of the rows is computed.
// CHECK: module @sliced
// CHECK-SAME: hr.slices = array<i64: 8, 0, 2>
#image = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#weights = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#result = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
module @sliced attributes {hr.recipe = "conv: parallel d0"} {
  func.func @sliced(%in: memref<8x4x16xf32>, %w: memref<16x16xf32>, %out: memref<8x4x16xf32>) {
    %zero = arith.constant 0.0 : f32
    %x = bufferization.to_tensor %in restrict : memref<8x4x16xf32>
    %v = bufferization.to_tensor %w restrict : memref<16x16xf32>
    %e = tensor.empty() : tensor<8x4x16xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4x16xf32>) -> tensor<8x4x16xf32>
    %y = linalg.generic {indexing_maps = [#image, #weights, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %v : tensor<8x4x16xf32>, tensor<16x16xf32>) outs(%z : tensor<8x4x16xf32>) attrs = {hr.stage = "conv"} {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      linalg.yield %s : f32
    } -> tensor<8x4x16xf32>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<8x4x16xf32>, memref<8x4x16xf32>) -> ()
    return
  }
}

// -----

// Rows of a window overlap: no part of the result needs just its part of the image.
// CHECK: module @overlaps
// CHECK-NOT: hr.slices
// CHECK: func.func @overlaps
#window = affine_map<(d0, d1) -> (d0 + d1)>
#tap = affine_map<(d0, d1) -> (d1)>
#sum = affine_map<(d0, d1) -> (d0)>
module @overlaps attributes {hr.recipe = "conv: parallel d0"} {
  func.func @overlaps(%in: memref<10xf32>, %w: memref<3xf32>, %out: memref<8xf32>) {
    %zero = arith.constant 0.0 : f32
    %x = bufferization.to_tensor %in restrict : memref<10xf32>
    %v = bufferization.to_tensor %w restrict : memref<3xf32>
    %e = tensor.empty() : tensor<8xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %y = linalg.generic {indexing_maps = [#window, #tap, #sum], iterator_types = ["parallel", "reduction"]} ins(%x, %v : tensor<10xf32>, tensor<3xf32>) outs(%z : tensor<8xf32>) attrs = {hr.stage = "conv"} {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<8xf32>, memref<8xf32>) -> ()
    return
  }
}

// -----

// A transpose goes through squares in registers, also if a bias and a residual are added on the way.
// CHECK: module @biased attributes {hr.kind = "vectors", hr.loops = "d0.o 4 || d1.o 6 | d0.t 8, d1.t 8"
#across = affine_map<(d0, d1) -> (d1, d0)>
#bias = affine_map<(d0, d1) -> (d0)>
#along = affine_map<(d0, d1) -> (d0, d1)>
module @biased {
  func.func @biased(%in: memref<48x32xf32>, %bias: memref<32xf32>, %residual: memref<32x48xf32>, %out: memref<32x48xf32>) {
    %x = bufferization.to_tensor %in restrict : memref<48x32xf32>
    %b = bufferization.to_tensor %bias restrict : memref<32xf32>
    %r = bufferization.to_tensor %residual restrict : memref<32x48xf32>
    %e = tensor.empty() : tensor<32x48xf32>
    %y = linalg.generic {indexing_maps = [#across, #bias, #along, #along], iterator_types = ["parallel", "parallel"]} ins(%x, %b, %r : tensor<48x32xf32>, tensor<32xf32>, tensor<32x48xf32>) outs(%e : tensor<32x48xf32>) attrs = {hr.stage = "map"} {
    ^bb0(%a: f32, %c: f32, %d: f32, %o: f32):
      %s = arith.addf %a, %c : f32
      %t = arith.addf %s, %d : f32
      linalg.yield %t : f32
    } -> tensor<32x48xf32>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<32x48xf32>, memref<32x48xf32>) -> ()
    return
  }
}

// -----

// The gradient of a weight: rows of the left-hand operand are adjacent in memory. As many terms are
// added at a time as the nearest cache holds the columns for, and a cell runs row by row.
// CHECK: module @weights attributes {hr.kind = "tiles", hr.loops = "d0.g 4, d1.g 8 || d2.p 8, d0.o 4, d2.s 8, d3 64 | d0.t 6, d1.c 16"
#left = affine_map<(m, n, h, w) -> (h, w, m)>
#right = affine_map<(m, n, h, w) -> (h, w, n)>
#both = affine_map<(m, n, h, w) -> (m, n)>
module @weights {
  func.func @weights(%a: memref<64x64x96xf32>, %w: memref<64x64x128xf32>, %out: memref<96x128xf32>) {
    %zero = arith.constant 0.0 : f32
    %0 = bufferization.to_tensor %a restrict : memref<64x64x96xf32>
    %1 = bufferization.to_tensor %w restrict : memref<64x64x128xf32>
    %e = tensor.empty() : tensor<96x128xf32>
    %init = linalg.fill {hr.stage = "contract"} ins(%zero : f32) outs(%e : tensor<96x128xf32>) -> tensor<96x128xf32>
    %p = linalg.generic {indexing_maps = [#left, #right, #both], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%0, %1 : tensor<64x64x96xf32>, tensor<64x64x128xf32>) outs(%init : tensor<96x128xf32>) attrs = {hr.stage = "contract"} {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %m = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %m : f32
      linalg.yield %s : f32
    } -> tensor<96x128xf32>
    bufferization.materialize_in_destination %p in restrict writable %out : (tensor<96x128xf32>, memref<96x128xf32>) -> ()
    return
  }
}

// -----

// A large copy in another order runs in the order of its operand, whose lines are used up one after
// the other: a few results along the last dimension, or if that is short, along the contiguous one.
// CHECK: module @turned attributes {hr.kind = "vectors", hr.loops = "d2.o 16 || d1 128, d0 5 | d2.v 8"
#turned = affine_map<(k, i, o) -> (o, i, k)>
#same3 = affine_map<(k, i, o) -> (k, i, o)>
module @turned {
  func.func @turned(%in: memref<128x128x5xf32>, %out: memref<5x128x128xf32>) {
    %x = bufferization.to_tensor %in restrict : memref<128x128x5xf32>
    %e = tensor.empty() : tensor<5x128x128xf32>
    %y = linalg.generic {indexing_maps = [#turned, #same3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<128x128x5xf32>) outs(%e : tensor<5x128x128xf32>) attrs = {hr.stage = "transpose"} {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    } -> tensor<5x128x128xf32>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<5x128x128xf32>, memref<5x128x128xf32>) -> ()
    return
  }
}

// -----

// CHECK: module @turned_back attributes {hr.kind = "loops", hr.loops = "d0.o 16 || d2 5, d1 128, d0.v 8"
#turned = affine_map<(o, i, k) -> (k, i, o)>
#same3 = affine_map<(o, i, k) -> (o, i, k)>
module @turned_back {
  func.func @turned_back(%in: memref<5x128x128xf32>, %out: memref<128x128x5xf32>) {
    %x = bufferization.to_tensor %in restrict : memref<5x128x128xf32>
    %e = tensor.empty() : tensor<128x128x5xf32>
    %y = linalg.generic {indexing_maps = [#turned, #same3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<5x128x128xf32>) outs(%e : tensor<128x128x5xf32>) attrs = {hr.stage = "transpose"} {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    } -> tensor<128x128x5xf32>
    bufferization.materialize_in_destination %y in restrict writable %out : (tensor<128x128x5xf32>, memref<128x128x5xf32>) -> ()
    return
  }
}
