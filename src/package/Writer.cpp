#include "package/Writer.h"

#include "package/Checksum.h"
#include "package/Manifest.h"

namespace headrace {

void writePackage(const std::filesystem::path &path, const PackageContents &contents,
                  std::span<const Bytes> objects) {
  std::vector<CodeFile> code;
  for (size_t i = 0; i < objects.size(); ++i) {
    // Code of one level may differ in its features.
    std::string number = std::to_string(i);
    code.push_back({"code/" + number + "-" + contents.code[i].level + ".so", objects[i].size(),
                    checksum(objects[i])});
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
