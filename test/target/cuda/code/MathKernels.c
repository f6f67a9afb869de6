// Every function of device code as a kernel, a block an element: compiled to PTX when tests are
// built, for a test on a device.
#include "../../../../src/target/cuda/code/DeviceMath.c"

#define KERNEL(function, type)                                                                     \
  __attribute__((nvptx_kernel)) void math_##function##_##type(                                     \
      const element_##type *x, element_##type *y, long long count) {                               \
    long long i = __nvvm_read_ptx_sreg_ctaid_x();                                                  \
    if (i < count)                                                                                 \
      y[i] = hr_##function##_##type(x[i]);                                                         \
  }
#define KERNELS(function) KERNEL(function, f32) KERNEL(function, f64)

typedef float element_f32;
typedef double element_f64;

KERNELS(exp)
KERNELS(exp2)
KERNELS(expm1)
KERNELS(log)
KERNELS(log2)
KERNELS(log10)
KERNELS(log1p)
KERNELS(tanh)
KERNELS(erf)
KERNELS(sin)
KERNELS(cos)
KERNELS(tan)
KERNELS(asin)
KERNELS(acos)
KERNELS(atan)
KERNELS(sinh)
KERNELS(cosh)
KERNELS(asinh)
KERNELS(acosh)
KERNELS(atanh)
KERNELS(cbrt)
