// Any bytes as the file of an image: decoded by the reader or the system's library that they ask
// for.
#include "runtime/system/Error.h"

#include "image/Decode.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    image::decode({data, size});
  } catch (const Error &) { // NOLINT(bugprone-empty-catch): too large, or a library is missing
  }
  return 0;
}
