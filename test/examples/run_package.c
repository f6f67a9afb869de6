/* Runs a package: run_package PACKAGE OUT TYPE RANK SIZE... FILE  TYPE RANK SIZE... FILE ...
 * Inputs are raw files; outputs are written one after the other to OUT. Plain C, the runtime alone.
 */
#include <headrace/headrace.h>
#include <stdio.h>
#include <stdlib.h>

static void *read_all(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    exit(3);
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  void *data = malloc((size_t)size + 1);
  if (fread(data, 1, (size_t)size, file) != (size_t)size)
    exit(3);
  fclose(file);
  return data;
}

int main(int argc, char **argv) {
  headrace_package *package;
  const headrace_program *program;
  headrace_result *result;
  headrace_tensor inputs[8];
  static int64_t shapes[8][8];
  size_t count = 0;
  for (int i = 3; i < argc; ++count) {
    headrace_tensor *input = &inputs[count];
    input->type = atoi(argv[i++]);
    input->rank = atoi(argv[i++]);
    for (int d = 0; d < input->rank; ++d)
      shapes[count][d] = atoll(argv[i++]);
    input->shape = shapes[count];
    input->data = read_all(argv[i++]);
  }
  if (headrace_package_open(argv[1], &package) != HEADRACE_OK ||
      headrace_package_program(package, NULL, &program) != HEADRACE_OK ||
      headrace_run_new(program, inputs, count, &result) != HEADRACE_OK) {
    fprintf(stderr, "%s\n", headrace_last_error());
    return 1;
  }
  FILE *out = fopen(argv[2], "wb");
  const headrace_tensor *output;
  for (size_t i = 0; (output = headrace_result_output(result, i)); ++i) {
    size_t bytes = output->type == HEADRACE_F64 ? 8 : 4;
    for (int d = 0; d < output->rank; ++d)
      bytes *= (size_t)output->shape[d];
    fwrite(output->data, 1, bytes, out);
  }
  fclose(out);
  headrace_result_free(result);
  headrace_package_close(package);
  return 0;
}
