// The records of a zip archive, as its specification (APPNOTE 6.3) lays them out.
#pragma once

#include <cstdint>

namespace headrace::zip {

inline constexpr uint32_t localSignature = 0x04034b50;
inline constexpr uint32_t centralSignature = 0x02014b50;
inline constexpr uint32_t endSignature = 0x06054b50;
inline constexpr uint16_t stored = 0;

struct [[gnu::packed]] LocalHeader {
  uint32_t signature = localSignature;
  uint16_t versionNeeded = 10;
  uint16_t flags = 0;
  uint16_t method = stored;
  uint16_t time = 0, date = 0x21; // 1980-01-01: the same archive from the same files
  uint32_t crc = 0;
  uint32_t packedBytes = 0, bytes = 0;
  uint16_t nameLength = 0, extraLength = 0;
};
static_assert(sizeof(LocalHeader) == 30);

struct [[gnu::packed]] CentralHeader {
  uint32_t signature = centralSignature;
  uint16_t versionMadeBy = 10, versionNeeded = 10;
  uint16_t flags = 0;
  uint16_t method = stored;
  uint16_t time = 0, date = 0x21;
  uint32_t crc = 0;
  uint32_t packedBytes = 0, bytes = 0;
  uint16_t nameLength = 0, extraLength = 0, commentLength = 0;
  uint16_t disk = 0, internalAttributes = 0;
  uint32_t externalAttributes = 0;
  uint32_t headerOffset = 0;
};
static_assert(sizeof(CentralHeader) == 46);

struct [[gnu::packed]] EndRecord {
  uint32_t signature = endSignature;
  uint16_t disk = 0, directoryDisk = 0;
  uint16_t entriesHere = 0, entries = 0;
  uint32_t directoryBytes = 0, directoryOffset = 0;
  uint16_t commentLength = 0;
};
static_assert(sizeof(EndRecord) == 22);

} // namespace headrace::zip
