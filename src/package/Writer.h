// Writes packages. Needs no compiler: code comes as linked objects.
#pragma once

#include "package/Contents.h"
#include "package/Zip.h"

#include <filesystem>

namespace headrace {

/// `objects` are shared objects or the images of another engine, one for each of `contents.code`,
/// `hostObjects` shared objects for `contents.hostCode`. Throws Error if the file cannot be
/// written.
void writePackage(const std::filesystem::path &path, const PackageContents &contents,
                  std::span<const Bytes> objects, const std::map<size_t, Bytes> &hostObjects = {});

} // namespace headrace
