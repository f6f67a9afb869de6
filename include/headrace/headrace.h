/* Runs programs that Headrace compiled ahead of time. Needs libheadrace_runtime, and nothing of the
 * compiler.
 *
 *   headrace_package *package;
 *   const headrace_program *program;
 *   if (headrace_package_open("digits.hrpkg", &package) != HEADRACE_OK ||
 *       headrace_package_program(package, NULL, &program) != HEADRACE_OK)
 *     fail(headrace_last_error());
 *   headrace_run(program, inputs, 1, outputs, 1);
 *   headrace_package_close(package);
 *
 * A package holds machine code: open only those you would run as a program.
 *
 * Threads: any number of threads may use a package and its programs at once; only closing it must
 * come after all other uses. All programs of a process share one pool of worker threads, of as many
 * as HEADRACE_THREADS says, or as there are cores.
 *
 * Binary interface: all declarations here keep their meaning and layout within one
 * HEADRACE_ABI_VERSION, which is also the number in the library's name (libheadrace_runtime.so.1).
 * Functions may be added. Strings are UTF-8.
 */
#ifndef HEADRACE_HEADRACE_H
#define HEADRACE_HEADRACE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HEADRACE_API __attribute__((visibility("default")))
#else
#define HEADRACE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define HEADRACE_ABI_VERSION 1

/* What went wrong; headrace_last_error says it in words. */
typedef enum headrace_status {
  HEADRACE_OK = 0,
  HEADRACE_INVALID_FILE = 1,     /* no package, or a damaged one */
  HEADRACE_UNSUPPORTED = 2,      /* not by this machine, this library or this package */
  HEADRACE_INVALID_ARGUMENT = 3, /* no such program, a null pointer, ... */
  HEADRACE_SHAPE_MISMATCH = 4,
  HEADRACE_TYPE_MISMATCH = 5,
  HEADRACE_MISSING_INPUT = 6,
  HEADRACE_IO_ERROR = 7,
  HEADRACE_OUT_OF_MEMORY = 8,
  HEADRACE_INTERNAL_ERROR = 9,   /* please report it */
  HEADRACE_OUT_OF_RANGE = 10,    /* the data hold an index or a class that does not exist */
  HEADRACE_DIVISION_BY_ZERO = 11 /* the data make integers be divided by 0 */
} headrace_status;

/* Types of elements. Half precision is passed as its bits, bool as bytes of 0 or 1. */
typedef enum headrace_type {
  HEADRACE_BOOL = 0,
  HEADRACE_I8 = 1,
  HEADRACE_U8 = 2,
  HEADRACE_I16 = 3,
  HEADRACE_U16 = 4,
  HEADRACE_I32 = 5,
  HEADRACE_U32 = 6,
  HEADRACE_I64 = 7,
  HEADRACE_U64 = 8,
  HEADRACE_F16 = 9,
  HEADRACE_BF16 = 10,
  HEADRACE_F32 = 11,
  HEADRACE_F64 = 12,
  /* For storage, a byte for each element: float8 in its bits, numbers of 4 and 2 bits in the low
   * ones, sign-extended or with zeros above. */
  HEADRACE_F8E4M3FN = 13,
  HEADRACE_F8E4M3FNUZ = 14,
  HEADRACE_F8E5M2 = 15,
  HEADRACE_F8E5M2FNUZ = 16,
  HEADRACE_F4E2M1 = 17,
  HEADRACE_I4 = 18,
  HEADRACE_U4 = 19,
  HEADRACE_I2 = 20,
  HEADRACE_U2 = 21,
  HEADRACE_F8E8M0 = 22
} headrace_type;

/* An array in C order. Its memory is aligned to its elements at least. Programs that run on a CUDA
 * device take memory of that device as well as main memory; outputs on the device are aligned to 16
 * bytes. */
typedef struct headrace_tensor {
  void *data;           /* only read where the tensor is an input; may be null if it is empty */
  const int64_t *shape; /* `rank` sizes */
  int32_t rank;
  int32_t type; /* a headrace_type */
} headrace_tensor;

/* An input or output as declared. Lives as long as its package. */
typedef struct headrace_spec {
  const char *name;
  const int64_t *dims;          /* `rank` dimensions; -1 for a dynamic one */
  const char *const *dim_texts; /* the same as text: "64", "batch", "2*batch + 1" */
  int32_t rank;
  int32_t type; /* a headrace_type */
} headrace_spec;

typedef struct headrace_package headrace_package;
typedef struct headrace_program headrace_program;
typedef struct headrace_result headrace_result;
/* A package that is linked into the process: `headrace compile --emit=so,static,object`. */
typedef struct headrace_image headrace_image;

/* "0.1.0" */
HEADRACE_API const char *headrace_version(void);
/* HEADRACE_ABI_VERSION of the library. */
HEADRACE_API int32_t headrace_abi_version(void);

/* One line on the last call of this thread that failed; valid until its next failure. */
HEADRACE_API const char *headrace_last_error(void);

/* Opens a package and chooses the code for this processor. Checksums of all that is used are
 * compared. Weights stay in the file, which must not change while the package is open. */
HEADRACE_API headrace_status headrace_package_open(const char *path, headrace_package **package);
HEADRACE_API headrace_status headrace_package_open_image(const headrace_image *image,
                                                         headrace_package **package);
/* Null is allowed. Results stay valid. */
HEADRACE_API void headrace_package_close(headrace_package *package);

/* The processor level whose code is used: "x86-64-v3"; for a CUDA device "sm_90a". */
HEADRACE_API const char *headrace_package_level(const headrace_package *package);
HEADRACE_API size_t headrace_package_program_count(const headrace_package *package);
/* The program of that name, or the only one where `name` is null; lives as long as the package. */
HEADRACE_API headrace_status headrace_package_program(const headrace_package *package,
                                                      const char *name,
                                                      const headrace_program **program);
/* Returns the program at this position; null if there is none. */
HEADRACE_API const headrace_program *headrace_package_program_at(const headrace_package *package,
                                                                 size_t index);

HEADRACE_API const char *headrace_program_name(const headrace_program *program);
HEADRACE_API size_t headrace_program_input_count(const headrace_program *program);
HEADRACE_API size_t headrace_program_output_count(const headrace_program *program);
/* Null if there is none of that number. */
HEADRACE_API const headrace_spec *headrace_program_input(const headrace_program *program,
                                                         size_t index);
HEADRACE_API const headrace_spec *headrace_program_output(const headrace_program *program,
                                                          size_t index);

/* The sizes of an output for inputs of these shapes, whose data is not looked at; `shape` has room
 * for the output's rank. HEADRACE_UNSUPPORTED for scripts: what they compute decides. */
HEADRACE_API headrace_status headrace_output_shape(const headrace_program *program,
                                                   const headrace_tensor *inputs,
                                                   size_t input_count, size_t output,
                                                   int64_t *shape);

/* Computes all outputs into the caller's memory. An output whose `shape` is null is taken to have
 * the size the program gives it. HEADRACE_INVALID_ARGUMENT where the memory of one overlaps that of
 * an input or of another output. */
HEADRACE_API headrace_status headrace_run(const headrace_program *program,
                                          const headrace_tensor *inputs, size_t input_count,
                                          const headrace_tensor *outputs, size_t output_count);

/* Like headrace_run, as part of the work of a CUDA stream (a CUstream or cudaStream_t; null is the
 * default one), for a program that runs on a device: inputs and outputs belong to the stream's
 * order, and the call returns before they are done, unless an output is in host memory. */
HEADRACE_API headrace_status headrace_enqueue(const headrace_program *program,
                                              const headrace_tensor *inputs, size_t input_count,
                                              const headrace_tensor *outputs, size_t output_count,
                                              void *stream);

/* A step of a program in the version that serves certain inputs. Strings live until the thread asks
 * for steps again, or the package is closed. */
typedef struct headrace_step {
  const char *name;
  const char *notes; /* "40 registers": what a device's driver made of it; else empty */
  double microseconds;
} headrace_step;

/* Runs the program once and stores the time of each step, as the device measures it where there is
 * one; `count` becomes the number of steps, of which up to `step_count` are stored. */
HEADRACE_API headrace_status headrace_time_steps(const headrace_program *program,
                                                 const headrace_tensor *inputs, size_t input_count,
                                                 headrace_step *steps, size_t step_count,
                                                 size_t *count);

/* Computes all outputs into memory of the library, which is main memory. */
HEADRACE_API headrace_status headrace_run_new(const headrace_program *program,
                                              const headrace_tensor *inputs, size_t input_count,
                                              headrace_result **result);
/* A script with arguments of its own, each "NAME=VALUE" for `$NAME` in it. headrace_run and
 * headrace_run_new run it with none. Its inputs and outputs are the variables it starts from and
 * leaves: matrices of doubles in C order, numbers of rank 0. One call at a time runs. */
HEADRACE_API headrace_status headrace_run_script(const headrace_program *program,
                                                 const char *const *arguments,
                                                 size_t argument_count,
                                                 const headrace_tensor *inputs, size_t input_count,
                                                 headrace_result **result);
/* An output; null if there is none of that number. Lives as long as the result. */
HEADRACE_API const headrace_tensor *headrace_result_output(const headrace_result *result,
                                                           size_t index);
/* Null is allowed. */
HEADRACE_API void headrace_result_free(headrace_result *result);

#ifdef __cplusplus
}
#endif

#endif
