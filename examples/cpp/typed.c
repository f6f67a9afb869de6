/* One digit, in C, with the package linked into the program and called by its generated header:
 *
 *   headrace compile examples/digits/digits.onnx -o digits --emit=static,header
 *   gcc examples/cpp/typed.c -I. -Iinclude libdigits.a -Lbuild/release/lib -lheadrace_runtime -o
 * typed LD_LIBRARY_PATH=build/release/lib ./typed
 */
#include "digits.h"
#include <stdio.h>

int main(void) {
  headrace_package *package;
  const headrace_program *program;
  float image[64], logits[10];
  int i;
  /* An upright stroke: a one. */
  for (i = 0; i < 64; ++i)
    image[i] = i % 8 == 3 || i % 8 == 4 ? 1.0f : 0.0f;
  if (digits_open(&package) != HEADRACE_OK ||
      headrace_package_program(package, "digits", &program) != HEADRACE_OK ||
      digits_run(program, 1, image, logits) != HEADRACE_OK) {
    fprintf(stderr, "typed: %s\n", headrace_last_error());
    return 1;
  }
  for (i = 0; i < 10; ++i)
    printf("%d: %.4f\n", i, logits[i]);
  headrace_package_close(package);
  return 0;
}
