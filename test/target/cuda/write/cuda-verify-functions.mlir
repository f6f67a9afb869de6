// RUN: hr-opt %s --cuda-verify-functions --split-input-file --verify-diagnostics

// Level 3 of a device: functions over memory, each of which is launched.

module @right attributes {cuda.launches = [{function = "f"}]} {
  gpu.module @device {
    gpu.func @f(%x: !llvm.ptr<1>) kernel { gpu.return }
  }
}

// -----

module @tensors attributes {cuda.launches = [{function = "f"}]} {
  gpu.module @device {
    gpu.func @f(%x: f32) kernel {
      // expected-error @+1 {{expected memory instead of tensors at the end of level 3, got tensor.from_elements}}
      %t = tensor.from_elements %x : tensor<1xf32>
      gpu.return
    }
  }
}

// -----

// expected-error @+1 {{launches 'g', which is not a device function}}
module @missing attributes {cuda.launches = [{function = "g"}]} {
  gpu.module @device {
    gpu.func @f(%x: !llvm.ptr<1>) kernel { gpu.return }
  }
}

// -----

// expected-error @+1 {{device function 'g' is never launched}}
module @idle attributes {cuda.launches = [{function = "f"}]} {
  gpu.module @device {
    gpu.func @f(%x: !llvm.ptr<1>) kernel { gpu.return }
    gpu.func @g(%x: !llvm.ptr<1>) kernel { gpu.return }
  }
}

// -----

module @allocation attributes {cuda.launches = [{function = "f"}]} {
  gpu.module @device {
    gpu.func @f() kernel {
      // expected-error @+1 {{expected no allocation on a device, got memref.alloc}}
      %m = memref.alloc() : memref<4xf32>
      gpu.return
    }
  }
}
