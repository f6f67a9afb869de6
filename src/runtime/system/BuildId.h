// Which build of the program runs: results that depend on all of its code are kept under this name.
#pragma once

#include <string>
#include <string_view>

namespace headrace {

/// The build IDs, which linkers make of all contents, of the file that holds `address` and of all
/// loaded libraries whose file names contain one of `libraries`. Empty if one of them has none.
std::string buildId(const void *address, std::initializer_list<std::string_view> libraries);

} // namespace headrace
