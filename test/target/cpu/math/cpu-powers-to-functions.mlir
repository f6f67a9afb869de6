// RUN: hr-opt --mlir-disable-threading --pass-pipeline='builtin.module(builtin.module(cpu-powers-to-functions))' %s | FileCheck %s

// Every module has the function it calls, though one after the other is given to the same pass.
// CHECK: module @first
// CHECK: call @[[POWER:__mlir_math_fpowi_[a-z0-9_]+]](
// CHECK: func.func private @[[POWER]](
module @first {
  func.func @k(%x: f64, %n: i64) -> f64 {
    %p = math.fpowi %x, %n : f64, i64
    return %p : f64
  }
}
// CHECK: module @second
// CHECK: call @[[POWER]](
// CHECK: func.func private @[[POWER]](
module @second {
  func.func @k(%x: f64, %n: i64) -> f64 {
    %p = math.fpowi %x, %n : f64, i64
    return %p : f64
  }
}
