#pragma once

#include "script/host/Value.h"
#include <span>

namespace headrace::script {

/// print("%d of %5.2f is %s", ...): the values in the places that % marks.
std::string format(const std::string &pattern, std::span<const Value> values);

} // namespace headrace::script
