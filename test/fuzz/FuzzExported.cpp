// Any bytes as a program that PyTorch exported: read and imported.
#include "driver/programs/ModelFile.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <cstring>

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<std::byte> bytes(size + 2);
  std::memcpy(bytes.data(), data, size);
  // Other bytes are an ONNX file, which has a fuzz target.
  bytes[0] = std::byte{'P'}, bytes[1] = std::byte{'K'};
  bytes.resize(std::max<size_t>(size, 2));
  try {
    (void)loadBytes(bytes, "fuzz.pt2", {});
  } catch (const Error &) { // NOLINT(bugprone-empty-catch): what most inputs end in
  }
  return 0;
}
