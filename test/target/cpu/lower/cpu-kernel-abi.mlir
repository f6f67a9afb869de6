// RUN: hr-opt --pass-pipeline='builtin.module(cpu-kernel-abi)' %s | FileCheck %s

// Before: memory with sizes, a range of cells and a workspace.
// After: what the runtime calls: pointers to the buffers and to the symbols' values.
// CHECK: func.func @k(%[[BUFFERS:.*]]: !llvm.ptr, %[[SYMBOLS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64, %{{.*}}: !llvm.ptr) -> i64
// CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[BUFFERS]][0]
// CHECK: %[[DATA:.*]] = llvm.load %[[SLOT]]
// CHECK: llvm.insertvalue %[[DATA]]
//
// The first size is (s0 - 3) floordiv 2 + 1, rounded down for negative numbers too.
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[SYMBOLS]][0]
// CHECK: %[[S0:.*]] = llvm.load %[[AT]]
// CHECK: %[[SUM:.*]] = llvm.add %[[S0]], %{{.*}} : i64
// CHECK: %[[NEGATIVE:.*]] = llvm.icmp "slt" %[[SUM]]
// CHECK: %[[DOWN:.*]] = llvm.sub %[[SUM]]
// CHECK: %[[ROUNDED:.*]] = llvm.select %[[NEGATIVE]], %[[DOWN]], %[[SUM]]
// CHECK: llvm.sdiv %[[ROUNDED]]
// CHECK: builtin.unrealized_conversion_cast {{.*}} to memref<?x8xf32>
// CHECK: llvm.getelementptr %[[BUFFERS]][1]
//
// CHECK: llvm.getelementptr %[[SYMBOLS]][1]
// CHECK-NOT: hr.size
// CHECK: return %{{.*}} : i64
module @k {
  func.func @k(%in: memref<?x8xf32> {hr.sizes = affine_map<()[s0] -> ((s0 - 3) floordiv 2 + 1, 8)>}, %out: memref<4xf32>,
               %begin: index, %end: index, %workspace: memref<?xi8>) -> index {
    %n = hr.size affine_map<()[s0, s1] -> (s0 * 64 + s1)>
    %c0 = arith.constant 0 : index
    %x = memref.load %in[%begin, %end] : memref<?x8xf32>
    memref.store %x, %out[%c0] : memref<4xf32>
    return %n : index
  }
}
