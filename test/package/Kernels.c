/* The code of the test packages, as the compiler would have linked it. Symbol 0 is the number of
 * elements. */
#include <stddef.h>
#include <stdint.h>

typedef int64_t (*Kernel)(void *const *, const int64_t *, int64_t, int64_t, void *);

static void *imports[1];

static int64_t addOne(void *const *buffers, const int64_t *symbols, int64_t begin, int64_t end,
                      void *workspace) {
  (void)workspace;
  for (int64_t i = begin; i < end; ++i)
    ((float *)buffers[1])[i] = ((const float *)buffers[0])[i] + 1;
  return symbols[0];
}

static int64_t multiply(void *const *buffers, const int64_t *symbols, int64_t begin, int64_t end,
                        void *workspace) {
  (void)workspace;
  for (int64_t i = begin; i < end; ++i)
    ((float *)buffers[2])[i] = ((const float *)buffers[0])[i] * ((const float *)buffers[1])[i];
  return symbols[0];
}

/* y = tanh(x), of one element: a version for n = 1 that one can tell from the general one. */
static int64_t tanhOfOne(void *const *buffers, const int64_t *symbols, int64_t begin, int64_t end,
                         void *workspace) {
  (void)symbols;
  (void)workspace;
  for (int64_t i = begin; i < end; ++i)
    ((float *)buffers[1])[i] = ((float (*)(float))imports[0])(((const float *)buffers[0])[i]);
  return 1;
}

static const char *const names[] = {"add_one", "multiply", "tanh_of_one"};
static const Kernel kernels[] = {addOne, multiply, tanhOfOne};
static const char *const importNames[] = {"tanhf"};

struct CodeTable {
  uint32_t abi, kernelCount;
  const char *const *kernelNames;
  const Kernel *kernels;
  uint32_t importCount, reserved;
  const char *const *importNames;
  void **imports;
};

__attribute__((visibility("default")))
const struct CodeTable headrace_code = {1, 3, names, kernels, 1, 0, importNames, imports};
