// deviceChain (runtime/cuda/CudaTest.h) as a package.
#pragma once

#include "package/Code.h"
#include "package/Writer.h"
#include "runtime/cuda/CudaTest.h"

namespace headrace::test {

inline PackageContents deviceContents() {
  ProgramNotes notes;
  for (size_t i = 0; i < deviceChain().steps.size(); ++i)
    notes.steps.push_back({"loops", "", "", "", ""});
  PackageContents contents;
  contents.producer = "the tests";
  contents.code = {{"cuda", "sm_90a", {}}};
  contents.programs = {{deviceChain(), {{0, {std::nullopt}, deviceChain(), notes}}}};
  return contents;
}

inline void writeDevicePackage(const std::filesystem::path &path, const PackageContents &contents) {
  std::string code = imagesToText({fakeImage, {"unused", "nobody reads this"}});
  std::vector<Bytes> objects(contents.code.size(), std::as_bytes(std::span(code)));
  writePackage(path, contents, objects);
}

} // namespace headrace::test
