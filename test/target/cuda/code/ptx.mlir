// RUN: hr-opt --pass-pipeline='builtin.module(cuda-attach-schedule,cuda-write-kernels,cuda-lower,cuda-print-ptx)' --split-input-file %s -o /dev/null | FileCheck %s --implicit-check-not=.local --implicit-check-not='.extern .func'
// RUN: hr-opt --pass-pipeline='builtin.module(cuda-attach-schedule{warpgroups=false},cuda-write-kernels,cuda-lower,cuda-print-ptx{architecture=sm_80})' --split-input-file %s -o /dev/null | FileCheck %s --check-prefix=OLDER --implicit-check-not=.local --implicit-check-not='.extern .func'

// Sixteen bytes at a time; the exponential is inlined.
// CHECK: .entry map(
// CHECK: .maxntid 256
// CHECK: ld.global.nc.v4.f32
// CHECK: ex2.approx.f32
// CHECK: st.global.v4.f32
#v = affine_map<(i) -> (i)>
module @map {
  func.func @map(%x: memref<4096xf32>, %y: memref<4096xf32>) {
    %a = bufferization.to_tensor %x restrict : memref<4096xf32>
    %e = tensor.empty() : tensor<4096xf32>
    %r = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(%a : tensor<4096xf32>) outs(%e : tensor<4096xf32>) {
    ^bb0(%in: f32, %out: f32):
      %n = math.exp %in : f32
      linalg.yield %n : f32
    } -> tensor<4096xf32>
    bufferization.materialize_in_destination %r in restrict writable %y : (tensor<4096xf32>, memref<4096xf32>) -> ()
    return
  }
}

// -----

// A row stays in registers: it is read once, and lanes exchange what they combined.
// CHECK: .entry normalize(
// CHECK-COUNT-4: ld.global.nc.v4.f32
// CHECK-NOT: ld.global
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK-COUNT-4: st.global.v4.f32
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

// A few results of many elements: parts, then their combination.
// CHECK: .entry total(
// CHECK: ld.global.nc.v4.f32
// CHECK: bar.sync
// CHECK: .entry total_combine(
#i = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
module @total {
  func.func @total(%x: memref<1048576xf32>, %y: memref<f32>) {
    %a = bufferization.to_tensor %x restrict : memref<1048576xf32>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %s = linalg.generic {indexing_maps = [#i, #none], iterator_types = ["reduction"]} ins(%a : tensor<1048576xf32>) outs(%f : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %n = arith.addf %out, %in : f32
      linalg.yield %n : f32
    } -> tensor<f32>
    bufferization.materialize_in_destination %s in restrict writable %y : (tensor<f32>, memref<f32>) -> ()
    return
  }
}

// -----

// Rows of 100 and columns of 200 elements: neighbours are read and written together, through a tile
// with a column more than it needs.
// CHECK: .entry transpose(
// CHECK: .shared .align 16 .b8 transpose_shared0[4224]
// CHECK: ld.global.nc.f32
// CHECK: st.shared.f32
// CHECK: bar.sync
// CHECK: ld.shared.f32
// CHECK: st.global.f32
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

// A product with what follows it: 16 steps of 64 multiplications a thread, then the bias.
// CHECK: .entry dense(
// CHECK: .minnctapersm 3
// CHECK: st.shared.v4.f32
// CHECK: bar.sync
// CHECK-COUNT-1024: fma.rn.f32
// CHECK: max.NaN.f32
// CHECK: st.global.v4.f32
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>
module @dense {
  func.func @dense(%x: memref<2048x512xf32>, %w: memref<512x2048xf32>, %c: memref<2048xf32>, %y: memref<2048x2048xf32>) {
    %a = bufferization.to_tensor %x restrict : memref<2048x512xf32>
    %b = bufferization.to_tensor %w restrict : memref<512x2048xf32>
    %bias = bufferization.to_tensor %c restrict : memref<2048xf32>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2048x2048xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
    %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<2048x512xf32>, tensor<512x2048xf32>) outs(%f : tensor<2048x2048xf32>) {
    ^bb0(%in: f32, %in2: f32, %out: f32):
      %p = arith.mulf %in, %in2 : f32
      %n = arith.addf %out, %p : f32
      linalg.yield %n : f32
    } -> tensor<2048x2048xf32>
    %r = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]} ins(%s, %bias : tensor<2048x2048xf32>, tensor<2048xf32>) outs(%e : tensor<2048x2048xf32>) {
    ^bb0(%in: f32, %in2: f32, %out: f32):
      %p = arith.addf %in, %in2 : f32
      %n = arith.maximumf %p, %zero : f32
      linalg.yield %n : f32
    } -> tensor<2048x2048xf32>
    bufferization.materialize_in_destination %r in restrict writable %y : (tensor<2048x2048xf32>, memref<2048x2048xf32>) -> ()
    return
  }
}

// -----

// On tensor cores: descriptions of the matrices are parameters of 128 bytes, one thread copies,
// others multiply.
// CHECK: .entry tensor_product(
// CHECK: .param .align 64 .b8 tensor_product_param_0[128]
// CHECK: .param .align 64 .b8 tensor_product_param_1[128]
// CHECK: .maxntid 384
// CHECK: mbarrier.init.shared.b64
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
// CHECK: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// On devices without warp groups, a warp at a time: 4 x 4 tiles, two steps of 16 in the depth.
// OLDER: .target sm_80
// OLDER: .entry tensor_product(
// OLDER: ld.global.nc.v4
// OLDER: bar.sync
// OLDER-COUNT-32: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
module @tensor_product {
  func.func @tensor_product(%x: memref<2048x512xbf16>, %w: memref<512x2048xbf16>, %y: memref<2048x2048xbf16>) {
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

// Rows of 1001 elements begin anywhere: both operands are copied first, with rows that begin at 16
// bytes, and zeros at their ends.
// CHECK: .entry odd_product(
// CHECK: .param .align 64 .b8 odd_product_param_0[128]
// CHECK: wgmma.mma_async
// CHECK: .entry odd_product_a(
// CHECK: ld.global.nc.u16
// CHECK: st.global.v4
// CHECK: .entry odd_product_b(
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
module @odd_product {
  func.func @odd_product(%x: memref<1001x1001xbf16>, %w: memref<1001x1001xbf16>, %y: memref<1001x1001xbf16>) {
    %a = bufferization.to_tensor %x restrict : memref<1001x1001xbf16>
    %b = bufferization.to_tensor %w restrict : memref<1001x1001xbf16>
    %zero = arith.constant 0.0 : bf16
    %e = tensor.empty() : tensor<1001x1001xbf16>
    %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<1001x1001xbf16>) -> tensor<1001x1001xbf16>
    %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<1001x1001xbf16>, tensor<1001x1001xbf16>) outs(%f : tensor<1001x1001xbf16>) {
    ^bb0(%in: bf16, %in2: bf16, %out: bf16):
      %p = arith.mulf %in, %in2 : bf16
      %n = arith.addf %out, %p : bf16
      linalg.yield %n : bf16
    } -> tensor<1001x1001xbf16>
    bufferization.materialize_in_destination %s in restrict writable %y : (tensor<1001x1001xbf16>, memref<1001x1001xbf16>) -> ()
    return
  }
}
