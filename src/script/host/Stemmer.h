#pragma once

#include <string>

namespace headrace::script {

/// An English word without its suffixes: "relational" gives "relat".
std::string stemOf(const std::string &word);

} // namespace headrace::script
