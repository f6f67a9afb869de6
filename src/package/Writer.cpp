#include "package/Writer.h"

#include "package/Checksum.h"
#include "package/Manifest.h"

namespace headrace {

void writePackage(const std::filesystem::path &path, const PackageContents &contents,
                  std::span<const Bytes> objects) {
  std::vector<CodeFile> code;
  for (size_t i = 0; i < objects.size(); ++i) {
    // Code of one level may differ in its features.
    std::string name = "code/" + std::to_string(i) + "-" + contents.code[i].level;
    bool forDevice = contents.code[i].architecture == cudaArchitecture;
    code.push_back({name + (forDevice ? ".json" : ".so"), objects[i].size(), checksum(objects[i])});
  }
  PackageParts parts = makeParts(contents, code);
  ZipWriter zip;
  zip.add(manifestFile, {std::as_bytes(std::span(parts.manifest))});
  for (size_t i = 0; i < objects.size(); ++i)
    zip.add(code[i].name, {objects[i]});
  zip.add(weightsFile, std::move(parts.weights));
  zip.write(path);
}

} // namespace headrace
