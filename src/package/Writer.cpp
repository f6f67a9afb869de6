#include "package/Writer.h"

#include "package/Checksum.h"
#include "package/Manifest.h"
#include "runtime/program/Engine.h"

namespace headrace {

void writePackage(const std::filesystem::path &path, const PackageContents &contents,
                  std::span<const Bytes> objects, const std::map<size_t, Bytes> &hostObjects) {
  std::vector<CodeFile> code;
  std::map<size_t, CodeFile> hostCode;
  for (size_t i = 0; i < objects.size(); ++i) {
    // Code of one level may differ in its features.
    std::string name = "code/" + std::to_string(i) + "-" + contents.code[i].level;
    bool isImages = engineOf(contents.code[i]) != hostEngine;
    code.push_back({name + (isImages ? ".json" : ".so"), objects[i].size(), checksum(objects[i])});
    if (auto host = hostObjects.find(i); host != hostObjects.end())
      hostCode[i] = {name + "-host.so", host->second.size(), checksum(host->second)};
  }
  PackageParts parts = makeParts(contents, code, hostCode);
  ZipWriter zip;
  zip.add(manifestFile, {std::as_bytes(std::span(parts.manifest))});
  for (size_t i = 0; i < objects.size(); ++i)
    zip.add(code[i].name, {objects[i]});
  for (const auto &[i, file] : hostCode)
    zip.add(file.name, {hostObjects.at(i)});
  zip.add(weightsFile, std::move(parts.weights));
  zip.write(path);
}

} // namespace headrace
