// The interface of a package as a header for C and C++.
#pragma once

#include "package/Contents.h"

#include <filesystem>

namespace headrace {

/// The symbol of a package's image in objects and libraries: "digits" -> "digits_image".
std::string imageSymbol(const std::string &package);

/// Typed functions for every program of the package, over include/headrace/headrace.h.
std::string packageHeader(const PackageContents &contents, const std::string &package);
void writeHeader(const std::filesystem::path &path, const PackageContents &contents,
                 const std::string &package);

} // namespace headrace
