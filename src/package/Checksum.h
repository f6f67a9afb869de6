#pragma once

#include "package/Zip.h"

namespace headrace {

/// The 64-bit XXH3 hash as 16 hexadecimal digits: detects corruption at memory speed, but does not
/// protect against deliberate changes.
std::string checksum(Bytes data);

} // namespace headrace
