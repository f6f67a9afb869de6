// RUN: hr-opt --pass-pipeline='builtin.module(cpu-check-kernel)' --split-input-file %s | FileCheck %s

// Before: a sum whose accumulator is read and written in every iteration.
// After: the kernel as it was, and a note.
// CHECK: module @memory attributes {hr.recipe_notes = "accumulators are in memory, not in registers, during an inner loop"}
module @memory {
  func.func @memory(%in: memref<64x8xf32>, %out: memref<8xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    scf.for %i = %c0 to %c64 step %c1 {
      %a = vector.transfer_read %in[%i, %c0], %zero {in_bounds = [true]} : memref<64x8xf32>, vector<8xf32>
      %b = vector.transfer_read %out[%c0], %zero {in_bounds = [true]} : memref<8xf32>, vector<8xf32>
      %s = arith.addf %a, %b : vector<8xf32>
      vector.transfer_write %s, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
    }
    return
  }
}

// -----

// The same with the accumulator in a register: nothing to note.
// CHECK: module @register {
module @register {
  func.func @register(%in: memref<64x8xf32>, %out: memref<8xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %start = arith.constant dense<0.0> : vector<8xf32>
    %sum = scf.for %i = %c0 to %c64 step %c1 iter_args(%b = %start) -> vector<8xf32> {
      %a = vector.transfer_read %in[%i, %c0], %zero {in_bounds = [true]} : memref<64x8xf32>, vector<8xf32>
      %s = arith.addf %a, %b : vector<8xf32>
      scf.yield %s : vector<8xf32>
    }
    vector.transfer_write %sum, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
    return
  }
}

// -----

// More accumulators than registers, memory allocated in a loop, and a stage that stayed scalar.
// CHECK: module @many attributes {hr.kind = "tiles", hr.recipe_notes = "an inner loop carries 20 vectors and reads 2 at a time; the machine has 16 registers; stage 'C' did not become vectors; memory is allocated inside a loop"}
#same = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
module @many attributes {hr.kind = "tiles"} {
  func.func @many(%in: memref<64x16xf32>, %out: memref<10x16xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %start = arith.constant dense<0.0> : vector<10x16xf32>
    %sum = scf.for %i = %c0 to %c64 step %c1 iter_args(%b = %start) -> vector<10x16xf32> {
      %a = vector.transfer_read %in[%i, %c0], %zero {in_bounds = [true]} : memref<64x16xf32>, vector<16xf32>
      %t = vector.broadcast %a : vector<16xf32> to vector<10x16xf32>
      %s = arith.addf %t, %b : vector<10x16xf32>
      scf.yield %s : vector<10x16xf32>
    }
    vector.transfer_write %sum, %out[%c0, %c0] {in_bounds = [true, true]} : vector<10x16xf32>, memref<10x16xf32>
    scf.for %i = %c0 to %c64 step %c1 {
      %m = memref.alloc(%n) : memref<?xf32>
      %v = memref.alloc(%n) : memref<?x4xf32>
      linalg.generic {indexing_maps = [#same, #row], iterator_types = ["parallel", "reduction"]} ins(%v : memref<?x4xf32>) outs(%m : memref<?xf32>) attrs = {hr.stage = "C"} {
      ^bb0(%x: f32, %acc: f32):
        %s = arith.addf %x, %acc : f32
        linalg.yield %s : f32
      }
    }
    return
  }
}
