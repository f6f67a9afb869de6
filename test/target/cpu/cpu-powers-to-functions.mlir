// RUN: hr-opt --mlir-disable-threading --pass-pipeline='builtin.module(builtin.module(cpu-powers-to-functions))' %s | FileCheck %s

// Every module has the function it calls, though one after the other is given to the same pass.
// CHECK: module @first
// CHECK: func.func private @[[POWER:__mlir_math_fpowi_.*]](
// CHECK: call @[[POWER]]
module @first {
  func.func @k(%x: f64, %n: i64) -> f64 {
    %p = math.fpowi %x, %n : f64, i64
    return %p : f64
  }
}
// CHECK: module @second
// CHECK: func.func private @[[POWER]](
// CHECK: call @[[POWER]]
module @second {
  func.func @k(%x: f64, %n: i64) -> f64 {
    %p = math.fpowi %x, %n : f64, i64
    return %p : f64
  }
}
