// RUN: hr-opt %s --pass-pipeline='builtin.module(place-kernels{target=cuda:sm_90a})' | FileCheck %s

// What the device cannot write is the host's, with the reason. The small kernel between two of those stays with them:
// it would gain less than its copies cost.
// CHECK-LABEL: func @main
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: hr.launch @relu(%arg0) {{.*}}hr.engine = "cuda"
  %0 = hr.launch @relu(%x) of ["relu"] {name = "relu", cost = affine_map<() -> (400000000, 400000000, 100000000)>} : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: hr.launch @running(%{{.*}}) {{.*}}hr.elsewhere = "{{.*}}no rule for this operation", hr.engine = "cpu"
  %1 = hr.launch @running(%0) of ["sum"] {name = "sum", cost = affine_map<() -> (32, 32, 8)>} : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: hr.launch @[[COPY:relu_[0-9]+]](%{{.*}}) {{.*}}hr.elsewhere = "the copies would take longer than the {{.*}} us that it gains", hr.engine = "cpu"
  %2 = hr.launch @relu(%1) of ["relu2"] {name = "relu2", cost = affine_map<() -> (32, 32, 8)>} : (tensor<8xf32>) -> tensor<8xf32>
  %3 = hr.launch @running(%2) of ["sum2"] {name = "sum2", cost = affine_map<() -> (32, 32, 8)>} : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: hr.library "openblas.sgemm"{{.*}}hr.elsewhere = "no routine 'openblas.sgemm' of devices", hr.engine = "cpu"
  %4 = hr.library "openblas.sgemm"(%3) of ["product"] {name = "product", cost = affine_map<() -> (32, 32, 8)>, parameters = affine_map<() -> (8)>} : (tensor<8xf32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}

#id = affine_map<(d0) -> (d0)>
// CHECK: module @relu attributes {hr.target = "cuda:sm_90a"}
module @relu {
  func.func @relu(%in: memref<8xf32>, %out: memref<8xf32>) {
    %a = bufferization.to_tensor %in restrict : memref<8xf32>
    %e = tensor.empty() : tensor<8xf32>
    %zero = arith.constant 0.0 : f32
    %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %o: f32):
      %m = arith.maximumf %v, %zero : f32
      linalg.yield %m : f32
    } -> tensor<8xf32>
    bufferization.materialize_in_destination %r in restrict writable %out : (tensor<8xf32>, memref<8xf32>) -> ()
    return
  }
}

// CHECK: module @running attributes {hr.target = "cpu"}
module @running {
  func.func @running(%in: memref<8xf32>, %out: memref<8xf32>) {
    %a = bufferization.to_tensor %in restrict : memref<8xf32>
    %zero = arith.constant 0 : index
    %v = arith.constant 1.0 : f32
    %r = tensor.insert %v into %a[%zero] : tensor<8xf32>
    bufferization.materialize_in_destination %r in restrict writable %out : (tensor<8xf32>, memref<8xf32>) -> ()
    return
  }
}

// CHECK: module @[[COPY]] attributes {hr.target = "cpu"}
// CHECK-NEXT: func.func @[[COPY]]
