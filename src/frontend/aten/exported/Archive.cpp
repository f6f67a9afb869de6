#include "frontend/aten/exported/Archive.h"

#include "package/ZipFormat.h"
#include "runtime/system/Error.h"

#include <cstring>
#include <limits>

namespace headrace::aten {

namespace {

constexpr uint64_t maxFiles = 1 << 20;
constexpr uint32_t elsewhere = std::numeric_limits<uint32_t>::max(); // in the 64-bit records
constexpr uint32_t wideEndSignature = 0x06064b50, wideLocatorSignature = 0x07064b50;

/// The records of archives beyond 4 GB.
struct [[gnu::packed]] WideLocator {
  uint32_t signature, disk;
  uint64_t endOffset;
  uint32_t disks;
};
struct [[gnu::packed]] WideEndRecord {
  uint32_t signature;
  uint64_t size;
  uint16_t versionMadeBy, versionNeeded;
  uint32_t disk, directoryDisk;
  uint64_t entriesHere, entries, directoryBytes, directoryOffset;
};

} // namespace

void Archive::fail(const std::string &what) const {
  throw Error(ErrorKind::InvalidFile, source + ": " + what);
}

template <class Record> Record Archive::read(uint64_t position) const {
  if (position > archive.size() || archive.size() - position < sizeof(Record))
    fail("the archive is damaged or truncated");
  Record record;
  std::memcpy(&record, archive.data() + position, sizeof record);
  return record;
}

std::string Archive::text(uint64_t position, uint64_t length) const {
  if (position > archive.size() || archive.size() - position < length)
    fail("the archive is damaged or truncated");
  return {reinterpret_cast<const char *>(archive.data()) + position, length};
}

Archive::Archive(Bytes bytes, std::string name) : archive(bytes), source(std::move(name)) {
  if (archive.size() < sizeof(zip::EndRecord))
    fail("expected a .pt2 archive, got a zip archive of " + std::to_string(archive.size()) +
         " bytes");
  uint64_t place = archive.size() - sizeof(zip::EndRecord);
  auto end = read<zip::EndRecord>(place);
  if (end.signature != zip::endSignature)
    fail("expected a .pt2 archive, as torch.export.save writes it; the end of a zip archive is "
         "missing");
  uint64_t start = end.directoryOffset, count = end.entries;
  if (place >= sizeof(WideLocator)) {
    auto locator = read<WideLocator>(place - sizeof(WideLocator));
    if (locator.signature == wideLocatorSignature) {
      auto wide = read<WideEndRecord>(locator.endOffset);
      if (wide.signature != wideEndSignature)
        fail("the archive is damaged or truncated");
      start = wide.directoryOffset, count = wide.entries;
    }
  }
  addFiles(start, count);
}

void Archive::addFiles(uint64_t position, uint64_t count) {
  if (count > maxFiles)
    fail("expected at most " + std::to_string(maxFiles) + " files, got " + std::to_string(count));
  for (uint64_t i = 0; i < count; ++i) {
    auto header = read<zip::CentralHeader>(position);
    if (header.signature != zip::centralSignature)
      fail("the archive is damaged or truncated");
    position += sizeof header;
    std::string name = text(position, header.nameLength);
    uint64_t size = header.bytes, local = header.headerOffset, extra = position + header.nameLength;
    uint64_t extraEnd = extra + header.extraLength;
    position = extraEnd + header.commentLength;
    if (header.method != zip::stored || (header.flags & 1) || header.packedBytes != header.bytes)
      fail("expected files stored as they are, but '" + name + "' is compressed or encrypted");
    // Field 1 has the values that 32 bits cannot hold, in this order.
    while (extra + 4 <= extraEnd) {
      auto id = read<uint16_t>(extra), length = read<uint16_t>(extra + 2);
      uint64_t field = extra + 4;
      if (id == 1) {
        if (header.bytes == elsewhere)
          size = read<uint64_t>(field), field += 16; // and as many bytes stored
        if (header.headerOffset == elsewhere)
          local = read<uint64_t>(field);
      }
      extra += 4 + length;
    }
    auto start = read<zip::LocalHeader>(local);
    if (start.signature != zip::localSignature)
      fail("the archive is damaged or truncated");
    uint64_t data = local + sizeof start + start.nameLength + start.extraLength;
    if (data > archive.size() || archive.size() - data < size)
      fail("the archive is truncated: '" + name + "' does not fit into it");
    files[name.substr(name.find('/') + 1)] = archive.subspan(data, size);
  }
}

Bytes Archive::file(const std::string &path) const {
  auto found = files.find(path);
  if (found == files.end())
    fail("expected a file '" + path + "' in the archive, as torch.export.save writes it");
  return found->second;
}

std::vector<std::string> Archive::pathsBelow(const std::string &directory) const {
  std::vector<std::string> found;
  for (const auto &[path, bytes] : files)
    if (path.starts_with(directory + "/"))
      found.push_back(path);
  return found;
}

} // namespace headrace::aten
