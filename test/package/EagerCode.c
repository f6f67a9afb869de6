// Leaves a trace in the process when it is loaded.
#include <stdlib.h>

__attribute__((constructor)) static void run(void) { setenv("HEADRACE_TEST_CODE_LOADED", "1", 1); }
