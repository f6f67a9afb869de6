// Any bytes as a package. What does not begin as an archive is taken for a manifest, which would
// hardly ever be reached through an archive's checksums. Programs that are accepted are bound to
// sizes, as a call does before it runs kernels.
#include "package/Manifest.h"
#include "package/Zip.h"
#include "runtime/program/Binding.h"
#include "runtime/system/Error.h"

using namespace headrace;

namespace {

void bind(const PackagedProgram &program) {
  for (const PackagedVersion &version : program.versions) {
    std::vector<int64_t> symbols;
    for (const Symbol &symbol : version.program.symbols)
      symbols.push_back(symbol.min);
    try {
      makeBinding(version.program, symbols);
    } catch (const Error &) { // NOLINT(bugprone-empty-catch): sizes can be too large
    }
  }
}

void read(Bytes manifest, Bytes weights) {
  Manifest read = readManifest(manifest, weights, nullptr, "fuzz.hrpkg",
                               [](const std::vector<ProcessorNeeds> &) { return 0; });
  for (const PackagedProgram &program : read.contents.programs)
    bind(program);
  for (const PackagedScript &script : read.contents.scripts)
    for (const PackagedSegment &segment : script.segments)
      bind(segment.program);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Bytes bytes = std::as_bytes(std::span(data, size));
  try {
    if (size < 2 || data[0] != 'P' || data[1] != 'K') {
      alignas(64) static constexpr std::byte weights[256] = {};
      read(bytes, weights);
      return 0;
    }
    ZipReader zip(bytes, "fuzz.hrpkg");
    read(zip.checkedFile(manifestFile), zip.file(weightsFile));
  } catch (const Error &) { // NOLINT(bugprone-empty-catch): what most inputs end in
  }
  return 0;
}
