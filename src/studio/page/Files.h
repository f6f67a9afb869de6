// The files of the page, which are in the program (CMakeLists.txt lists them).
#pragma once

#include <span>
#include <string_view>

namespace headrace::studio {

struct PageFile {
  std::string_view name, type;
  std::string_view (*text)();
};

std::span<const PageFile> pageFiles();
/// Null if the page has no such file.
const PageFile *findPageFile(std::string_view name);

} // namespace headrace::studio
