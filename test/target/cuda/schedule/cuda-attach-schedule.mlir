// RUN: hr-opt --pass-pipeline='builtin.module(cuda-attach-schedule)' --split-input-file %s | FileCheck %s
// RUN: hr-opt --pass-pipeline='builtin.module(cuda-attach-schedule{warpgroups=false})' --split-input-file %s | FileCheck --check-prefix=OLDER %s
// RUN: hr-opt --pass-pipeline='builtin.module(cuda-attach-schedule{multiprocessors=16})' --split-input-file %s | FileCheck --check-prefix=SMALLER %s

// An element-wise function: a thread has as many neighbours as it loads at once.
// CHECK-LABEL: module @map
// CHECK-SAME: hr.kind = "points"
// CHECK-SAME: hr.loops = "points threads=256 vector=4"
// CHECK: cuda.schedule = {kind = "points", threads = 256 : i64, vector = 4 : i64}
#v = affine_map<(i) -> (i)>
module @map {
  func.func @map(%x: memref<4096xf32>, %y: memref<4096xf32>) {
    %a = bufferization.to_tensor %x restrict : memref<4096xf32>
    %e = tensor.empty() : tensor<4096xf32>
    %r = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%a : tensor<4096xf32>) outs(%e : tensor<4096xf32>) attrs = {hr.stage = "map"} {
    ^bb0(%in: f32, %out: f32):
      %n = arith.negf %in : f32
      linalg.yield %n : f32
    } -> tensor<4096xf32>
    bufferization.materialize_in_destination %r in restrict writable %y : (tensor<4096xf32>, memref<4096xf32>) -> ()
    return
  }
}

// -----

// Something is combined per row and needed in the row: one launch, a warp a row, four vectors of it
// in each thread. The sum has no schedule: it is computed where it is read.
// CHECK-LABEL: module @normalize
// CHECK-SAME: hr.loops = "rows threads=128 vector=4 lanes=32 held=4"
// CHECK: iterator_types = ["parallel", "reduction"]
// CHECK-NOT: cuda.schedule
// CHECK: iterator_types = ["parallel", "parallel"]
// CHECK-SAME: cuda.schedule = {held = 4 : i64, kind = "rows", lanes = 32 : i64, threads = 128 : i64, vector = 4 : i64}
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
module @normalize {
  func.func @normalize(%x: memref<64x512xf32>, %y: memref<64x512xf32>) {
    %a = bufferization.to_tensor %x restrict : memref<64x512xf32>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
    %s = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<64x512xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %n = arith.addf %out, %in : f32
      linalg.yield %n : f32
    } -> tensor<64xf32>
    %o = tensor.empty() : tensor<64x512xf32>
    %r = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<64x512xf32>, tensor<64xf32>) outs(%o : tensor<64x512xf32>) {
    ^bb0(%in: f32, %sum: f32, %out: f32):
      %n = arith.divf %in, %sum : f32
      linalg.yield %n : f32
    } -> tensor<64x512xf32>
    bufferization.materialize_in_destination %r in restrict writable %y : (tensor<64x512xf32>, memref<64x512xf32>) -> ()
    return
  }
}

// -----

// Sums of columns: several blocks share the rows.
// CHECK-LABEL: module @columns
// CHECK-SAME: hr.loops = "columns threads=256 vector=1 lanes=1 splits=64"
#ij = affine_map<(j, i) -> (i, j)>
#j = affine_map<(j, i) -> (j)>
module @columns {
  func.func @columns(%x: memref<4096x1000xf32>, %y: memref<1000xf32>) {
    %a = bufferization.to_tensor %x restrict : memref<4096x1000xf32>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<1000xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1000xf32>) -> tensor<1000xf32>
    %s = linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<4096x1000xf32>) outs(%f : tensor<1000xf32>) {
    ^bb0(%in: f32, %out: f32):
      %n = arith.addf %out, %in : f32
      linalg.yield %n : f32
    } -> tensor<1000xf32>
    bufferization.materialize_in_destination %s in restrict writable %y : (tensor<1000xf32>, memref<1000xf32>) -> ()
    return
  }
}

// -----

// The operand is contiguous along the first dimension of the result: through shared memory.
// CHECK-LABEL: module @transpose
// CHECK-SAME: hr.loops = "tiles threads=256 along=0"
#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
module @transpose {
  func.func @transpose(%x: memref<100x200xf32>, %y: memref<200x100xf32>) {
    %a = bufferization.to_tensor %x restrict : memref<100x200xf32>
    %e = tensor.empty() : tensor<200x100xf32>
    %r = linalg.generic {indexing_maps = [#ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<100x200xf32>) outs(%e : tensor<200x100xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<200x100xf32>
    bufferization.materialize_in_destination %r in restrict writable %y : (tensor<200x100xf32>, memref<200x100xf32>) -> ()
    return
  }
}

// -----

// A matrix product: by tensor cores where the device has warp groups. Each row of an operand begins
// at a multiple of 16 bytes, so that the copy engine reads it.
// CHECK-LABEL: module @product
// CHECK-SAME: hr.loops = "warpgroups threads=384 tileM=128 tileN=256 tileK=64 stages=4 blocks=132 padded=64"
// SMALLER: hr.loops = "warpgroups {{.*}} blocks=16 padded=64"
// OLDER-LABEL: module @product
// OLDER-SAME: hr.loops = "tensorcores threads=256 splits=1 tileM=128 tileN=128 tileK=32 threadM=64 threadN=32"
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
module @product {
  func.func @product(%x: memref<2048x512xbf16>, %w: memref<512x2048xbf16>, %y: memref<2048x2048xbf16>) {
    %a = bufferization.to_tensor %x restrict : memref<2048x512xbf16>
    %b = bufferization.to_tensor %w restrict : memref<512x2048xbf16>
    %zero = arith.constant 0.0 : bf16
    %e = tensor.empty() : tensor<2048x2048xbf16>
    %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16>
    %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<2048x512xbf16>, tensor<512x2048xbf16>) outs(%f : tensor<2048x2048xbf16>) {
    ^bb0(%in: bf16, %in2: bf16, %out: bf16):
      %p = arith.mulf %in, %in2 : bf16
      %n = arith.addf %out, %p : bf16
      linalg.yield %n : bf16
    } -> tensor<2048x2048xbf16>
    bufferization.materialize_in_destination %s in restrict writable %y : (tensor<2048x2048xbf16>, memref<2048x2048xbf16>) -> ()
    return
  }
}

// -----

// Few tiles and a long depth: eight blocks share the depth of each.
// CHECK-LABEL: module @deep
// CHECK-SAME: hr.loops = "product threads=128 splits=8 tileM=64 tileN=128 tileK=16 threadM=8 threadN=8"
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
module @deep {
  func.func @deep(%x: memref<512x3072xf32>, %w: memref<3072x768xf32>, %y: memref<512x768xf32>) {
    %a = bufferization.to_tensor %x restrict : memref<512x3072xf32>
    %b = bufferization.to_tensor %w restrict : memref<3072x768xf32>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<512x768xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x768xf32>) -> tensor<512x768xf32>
    %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<512x3072xf32>, tensor<3072x768xf32>) outs(%f : tensor<512x768xf32>) {
    ^bb0(%in: f32, %in2: f32, %out: f32):
      %p = arith.mulf %in, %in2 : f32
      %n = arith.addf %out, %p : f32
      linalg.yield %n : f32
    } -> tensor<512x768xf32>
    bufferization.materialize_in_destination %s in restrict writable %y : (tensor<512x768xf32>, memref<512x768xf32>) -> ()
    return
  }
}

// -----

// Rows of more than a warp have a block each.
// CHECK-LABEL: module @long_rows
// CHECK-SAME: hr.loops = "rows threads=64 vector=4 lanes=64 held=8"
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
module @long_rows {
  func.func @long_rows(%x: memref<64x2048xf32>, %y: memref<64xf32>) {
    %a = bufferization.to_tensor %x restrict : memref<64x2048xf32>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
    %s = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<64x2048xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %n = arith.addf %out, %in : f32
      linalg.yield %n : f32
    } -> tensor<64xf32>
    bufferization.materialize_in_destination %s in restrict writable %y : (tensor<64xf32>, memref<64xf32>) -> ()
    return
  }
}

// -----

// A recipe says of which kind, and one parameter; the others follow. What it launches is in memory
// for what reads it.
// CHECK-LABEL: module @given
// CHECK-SAME: hr.recipe = "/reduce: rows threads=128 vector=4 lanes=16 held=8\0A/map: points threads=64 vector=4\0A"
// CHECK-SAME: hr.root_stage = "/map"
// CHECK: iterator_types = ["parallel", "reduction"]
// CHECK-SAME: cuda.schedule = {held = 8 : i64, kind = "rows", lanes = 16 : i64, threads = 128 : i64, vector = 4 : i64}
// CHECK: iterator_types = ["parallel", "parallel"]
// CHECK-SAME: cuda.schedule = {kind = "points", threads = 64 : i64, vector = 4 : i64}
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
module @given attributes {hr.recipe = "/reduce: rows lanes=16\0A/map: points threads=64\0A"} {
  func.func @given(%x: memref<64x512xf32>, %y: memref<64x512xf32>) {
    %a = bufferization.to_tensor %x restrict : memref<64x512xf32>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64xf32>
    %f = linalg.fill {hr.stage = "/reduce"} ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
    %s = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<64x512xf32>) outs(%f : tensor<64xf32>) attrs = {hr.stage = "/reduce"} {
    ^bb0(%in: f32, %out: f32):
      %n = arith.addf %out, %in : f32
      linalg.yield %n : f32
    } -> tensor<64xf32>
    %o = tensor.empty() : tensor<64x512xf32>
    %r = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<64x512xf32>, tensor<64xf32>) outs(%o : tensor<64x512xf32>) attrs = {hr.stage = "/map"} {
    ^bb0(%in: f32, %sum: f32, %out: f32):
      %n = arith.divf %in, %sum : f32
      linalg.yield %n : f32
    } -> tensor<64x512xf32>
    bufferization.materialize_in_destination %r in restrict writable %y : (tensor<64x512xf32>, memref<64x512xf32>) -> ()
    return
  }
}

// -----

// An illegal schedule is refused with the reason, and the compiler's own choice is there instead.
// CHECK-LABEL: module @refused
// CHECK-SAME: hr.loops = "points threads=256 vector=4"
// CHECK-SAME: hr.recipe_refused = "recipe, line 1, 'map: points vector=8': vector: expected at most 4
#v = affine_map<(i) -> (i)>
module @refused attributes {hr.recipe = "map: points vector=8"} {
  func.func @refused(%x: memref<4100xf32>, %y: memref<4100xf32>) {
    %a = bufferization.to_tensor %x restrict : memref<4100xf32>
    %e = tensor.empty() : tensor<4100xf32>
    %r = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%a : tensor<4100xf32>) outs(%e : tensor<4100xf32>) attrs = {hr.stage = "map"} {
    ^bb0(%in: f32, %out: f32):
      %n = arith.negf %in : f32
      linalg.yield %n : f32
    } -> tensor<4100xf32>
    bufferization.materialize_in_destination %r in restrict writable %y : (tensor<4100xf32>, memref<4100xf32>) -> ()
    return
  }
}
