/* Runs programs that Headrace compiled ahead of time. Needs the library libheadrace_runtime, but
 * not the compiler.
 *
 *   headrace_package *package;
 *   const headrace_program *program;
 *   if (headrace_package_open("digits.hrpkg", &package) != HEADRACE_OK ||
 *       headrace_package_program(package, NULL, &program) != HEADRACE_OK)
 *     fail(headrace_last_error());
 *   headrace_run(program, inputs, 1, outputs, 1);
 *   headrace_package_close(package);
 *
 * A package contains machine code: open a package only if you would run it as a program.
 *
 * Threads: any number of threads may use a package and its programs at once; close it after all
 * other uses. All programs of a process share one pool of worker threads; HEADRACE_THREADS sets
 * their number, by default the number of cores.
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

/* The result of a call; headrace_last_error describes a failure in one line. */
typedef enum headrace_status {
  HEADRACE_OK = 0,
  HEADRACE_INVALID_FILE = 1,     /* the file is damaged or not a package */
  HEADRACE_UNSUPPORTED = 2,      /* not supported by this machine, library or package */
  HEADRACE_INVALID_ARGUMENT = 3, /* an unknown program, a null pointer, ... */
  HEADRACE_SHAPE_MISMATCH = 4,   /* a tensor has another shape than declared */
  HEADRACE_TYPE_MISMATCH = 5,    /* a tensor has another element type than declared */
  HEADRACE_MISSING_INPUT = 6,    /* fewer inputs than declared */
  HEADRACE_IO_ERROR = 7,         /* the file cannot be read */
  HEADRACE_OUT_OF_MEMORY = 8,    /* the message has the bytes and their purpose */
  HEADRACE_INTERNAL_ERROR = 9,   /* a defect of Headrace: please report it */
  HEADRACE_OUT_OF_RANGE = 10,    /* the data contain an index or class out of range */
  HEADRACE_DIVISION_BY_ZERO = 11 /* integer division by zero */
} headrace_status;

/* Element types. f16 and bf16 are passed as their bits, bool as bytes of 0 or 1. */
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
  /* Storage types, one byte per element: float8 as its bits, 4-bit and 2-bit values in the low
   * bits, sign-extended or zero-extended. */
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

/* An array in C order, aligned at least to its elements. Programs that run on a CUDA device accept
 * memory of that device as well as host memory; outputs on the device are aligned to 16 bytes. */
typedef struct headrace_tensor {
  void *data;           /* only read if the tensor is an input; may be null if it is empty */
  const int64_t *shape; /* `rank` extents */
  int32_t rank;
  int32_t type; /* a headrace_type */
} headrace_tensor;

/* A declared input or output. Valid as long as its package is open. */
typedef struct headrace_spec {
  const char *name;
  const int64_t *dims;          /* `rank` extents; -1 for a dynamic dimension */
  const char *const *dim_texts; /* the dimensions as text: "64", "batch", "2*batch + 1" */
  int32_t rank;
  int32_t type; /* a headrace_type */
} headrace_spec;

/* An open package; free it with headrace_package_close. */
typedef struct headrace_package headrace_package;
/* A program of a package. Valid as long as its package is open. */
typedef struct headrace_program headrace_program;
/* The outputs of a call; free them with headrace_result_free. */
typedef struct headrace_result headrace_result;
/* A package that is linked into the process: `headrace compile --emit=so,static,object`. */
typedef struct headrace_image headrace_image;

/* Returns the version of the library: "0.1.0". */
HEADRACE_API const char *headrace_version(void);
/* Returns the HEADRACE_ABI_VERSION of the library. */
HEADRACE_API int32_t headrace_abi_version(void);

/* Returns one line about the last call of this thread that failed; valid until its next failure. */
HEADRACE_API const char *headrace_last_error(void);

/* Opens the package in a file, verifies its checksums, and chooses the code for this machine.
 * Weights stay in the file, which must not change while the package is open. Stores the package on
 * HEADRACE_OK; fails with HEADRACE_INVALID_FILE, HEADRACE_IO_ERROR or, if no code in it runs on
 * this machine, HEADRACE_UNSUPPORTED. */
HEADRACE_API headrace_status headrace_package_open(const char *path, headrace_package **package);
/* Like headrace_package_open, for a package that is linked into the process. */
HEADRACE_API headrace_status headrace_package_open_image(const headrace_image *image,
                                                         headrace_package **package);
/* Closes a package; null is allowed. Its programs and specs become invalid, results stay valid. */
HEADRACE_API void headrace_package_close(headrace_package *package);

/* Returns the microarchitecture level of the chosen code: "x86-64-v3"; for a CUDA device "sm_90a".
 */
HEADRACE_API const char *headrace_package_level(const headrace_package *package);
/* Returns the number of programs in the package. */
HEADRACE_API size_t headrace_package_program_count(const headrace_package *package);
/* Stores the program of this name, or the only one if `name` is null. Fails with
 * HEADRACE_INVALID_ARGUMENT if there is no such program, or several for a null name. */
HEADRACE_API headrace_status headrace_package_program(const headrace_package *package,
                                                      const char *name,
                                                      const headrace_program **program);
/* Returns the program at this position; null if there is none. */
HEADRACE_API const headrace_program *headrace_package_program_at(const headrace_package *package,
                                                                 size_t index);

/* Returns the program's name. */
HEADRACE_API const char *headrace_program_name(const headrace_program *program);
/* Returns the number of inputs. */
HEADRACE_API size_t headrace_program_input_count(const headrace_program *program);
/* Returns the number of outputs. */
HEADRACE_API size_t headrace_program_output_count(const headrace_program *program);
/* Returns the declaration of an input, counted from 0; null if there is no such input. */
HEADRACE_API const headrace_spec *headrace_program_input(const headrace_program *program,
                                                         size_t index);
/* Returns the declaration of an output, counted from 0; null if there is no such output. */
HEADRACE_API const headrace_spec *headrace_program_output(const headrace_program *program,
                                                          size_t index);

/* Stores the shape of output number `output` for inputs of these shapes, whose data are not read;
 * `shape` must have room for the output's rank. Fails with HEADRACE_UNSUPPORTED for scripts and
 * split models, whose results decide their shapes. */
HEADRACE_API headrace_status headrace_output_shape(const headrace_program *program,
                                                   const headrace_tensor *inputs,
                                                   size_t input_count, size_t output,
                                                   int64_t *shape);

/* Runs the program, and writes all outputs to the caller's memory. An output whose `shape` is null
 * is assumed to have room for its shape. Fails with HEADRACE_SHAPE_MISMATCH, HEADRACE_TYPE_MISMATCH
 * or HEADRACE_MISSING_INPUT if the tensors do not match the declarations, and with
 * HEADRACE_INVALID_ARGUMENT if the memory of an output overlaps that of another tensor. */
HEADRACE_API headrace_status headrace_run(const headrace_program *program,
                                          const headrace_tensor *inputs, size_t input_count,
                                          const headrace_tensor *outputs, size_t output_count);

/* Like headrace_run, as part of the work of a CUDA stream (a CUstream or cudaStream_t; null is the
 * default one), for a program that runs on a device: inputs and outputs belong to the stream's
 * order, and the call returns before they are done, unless an output is in host memory. Errors in
 * the data, such as HEADRACE_OUT_OF_RANGE, are then reported by a later call. */
HEADRACE_API headrace_status headrace_enqueue(const headrace_program *program,
                                              const headrace_tensor *inputs, size_t input_count,
                                              const headrace_tensor *outputs, size_t output_count,
                                              void *stream);

/* A step of the program version that serves given inputs. The strings are valid until the thread
 * calls headrace_time_steps again, or the package is closed. */
typedef struct headrace_step {
  const char *name;
  const char *notes; /* a remark of the device's driver, such as "40 registers"; else empty */
  double microseconds;
} headrace_step;

/* Runs the program once and stores the time of each step, measured by the device if there is one.
 * `count` becomes the number of steps; at most `step_count` of them are stored. */
HEADRACE_API headrace_status headrace_time_steps(const headrace_program *program,
                                                 const headrace_tensor *inputs, size_t input_count,
                                                 headrace_step *steps, size_t step_count,
                                                 size_t *count);

/* Like headrace_run, with outputs in host memory of the library. Stores the result on HEADRACE_OK;
 * free it with headrace_result_free. */
HEADRACE_API headrace_status headrace_run_new(const headrace_program *program,
                                              const headrace_tensor *inputs, size_t input_count,
                                              headrace_result **result);
/* Runs a packaged script with arguments "NAME=VALUE" for `$NAME` in it; headrace_run and
 * headrace_run_new pass no arguments. Inputs and outputs are the script's variables: matrices of
 * doubles in C order, and numbers of rank 0. One call runs at a time. */
HEADRACE_API headrace_status headrace_run_script(const headrace_program *program,
                                                 const char *const *arguments,
                                                 size_t argument_count,
                                                 const headrace_tensor *inputs, size_t input_count,
                                                 headrace_result **result);
/* Returns an output, counted from 0; null if there is no such output. Valid as long as the result.
 */
HEADRACE_API const headrace_tensor *headrace_result_output(const headrace_result *result,
                                                           size_t index);
/* Frees a result; null is allowed. */
HEADRACE_API void headrace_result_free(headrace_result *result);

#ifdef __cplusplus
}
#endif

#endif
