#pragma once

#include "package/Zip.h"

namespace headrace {

/// XXH3 of 64 bits, as 16 hexadecimal digits: tells damage at the speed of memory. It is no
/// protection against deliberate changes.
std::string checksum(Bytes data);

} // namespace headrace
