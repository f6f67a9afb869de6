// Every setting of the compiler, in one typed place.
#pragma once

#include <cstddef>
#include <string>

namespace headrace {

struct Settings {
  /// The machine to compile for.
  std::string target = "cpu";
  /// Contractions: "auto" chooses by estimated time, "generated" or "openblas" insist.
  std::string expansion = "auto";
  /// Versions of one program for different sizes that are kept.
  size_t planCacheSize = 16;
};

} // namespace headrace
