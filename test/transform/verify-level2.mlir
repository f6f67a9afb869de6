// RUN: hr-opt %s --verify-diagnostics --pass-pipeline='builtin.module(func.func(verify-level2))'

// Five points that run in any order add to one element.
func.func @repeated(%x: tensor<f32>) -> tensor<f32> {
  %0 = hr.kernel "sum"(%x) of ["sum"] {cost = affine_map<() -> (4, 4, 5)>} : (tensor<f32>) -> tensor<f32> {
  ^bb0(%a: tensor<f32>):
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<f32>
    %each = tensor.empty() : tensor<5xf32>
    %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
    // expected-error @+1 {{writes a result without its parallel loop 0}}
    %r:2 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>],
        iterator_types = ["parallel"]} ins(%a : tensor<f32>) outs(%start, %each : tensor<f32>, tensor<5xf32>) {
    ^bb1(%in: f32, %sum: f32, %out: f32):
      %s = arith.addf %sum, %in : f32
      linalg.yield %s, %in : f32, f32
    } -> (tensor<f32>, tensor<5xf32>)
    hr.yield %r#0 : tensor<f32>
  }
  return %0 : tensor<f32>
}
