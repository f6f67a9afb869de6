/* Tags of five words, in C, by a PyTorch network that is linked into the program:
 *
 *   python examples/cpp/export_tagger.py tagger.pt2
 *   headrace compile tagger.pt2 -o tagger --emit=static,header
 *   gcc examples/cpp/tag.c -I. -Iinclude libtagger.a -Lbuild/release/lib -lheadrace_runtime -o tag
 *   LD_LIBRARY_PATH=build/release/lib ./tag
 */
#include "tagger.h"
#include <stdio.h>

enum { length = 5, tags = 3 };

int main(void) {
  const int64_t words[length] = {0, 1, 2, 3, 4};
  headrace_package *package;
  const headrace_program *program;
  float scores[length * tags];
  int64_t found[length];
  int i;
  if (tagger_open(&package) != HEADRACE_OK ||
      headrace_package_program(package, "tagger", &program) != HEADRACE_OK ||
      tagger_run(program, length, words, scores, found) != HEADRACE_OK) {
    fprintf(stderr, "tag: %s\n", headrace_last_error());
    return 1;
  }
  for (i = 0; i < length; ++i)
    printf(i ? " %d" : "%d", (int)found[i]);
  printf("\n");
  headrace_package_close(package);
  return 0;
}
