// A manifest's checksum of itself: damage to the archive's own checksums aside, it tells that
// programs are still those that the code was compiled for.
#pragma once

#include "package/Checksum.h"
#include "runtime/system/Json.h"

namespace headrace {

inline constexpr char checksumKey[] = "checksum";

/// Names come from models and may be no UTF-8.
inline std::string manifestText(const Json &manifest) {
  return manifest.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The checksum of all other entries; it does not depend on how the file formats them.
inline std::string checksumOf(Json manifest) {
  manifest.erase(checksumKey);
  std::string text = manifestText(manifest);
  return checksum(std::as_bytes(std::span(text)));
}

} // namespace headrace
