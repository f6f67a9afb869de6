#include "package/Zip.h"
#include "package/ZipFormat.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace headrace {

namespace {

[[noreturn]] void fail(const std::string &source, const std::string &what) {
  throw Error(ErrorKind::InvalidFile, source + ": " + what);
}

constexpr std::array<uint32_t, 256> crcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = (value >> 1) ^ (value & 1 ? 0xedb88320 : 0);
    table[i] = value;
  }
  return table;
}();

// Such a name stays below the directory it is unpacked to, on every system.
bool isHarmless(const std::string &name) {
  if (name.empty() || name.size() > 255)
    return false;
  std::string part;
  for (char c : name + "/") {
    if (c != '/') {
      bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   c == '.' || c == '-' || c == '_';
      if (!plain)
        return false;
      part += c;
      continue;
    }
    if (part.empty() || part == "." || part == "..")
      return false;
    part.clear();
  }
  return true;
}

class Directory {
public:
  Directory(Bytes archive, const std::string &source) : archive(archive), source(source) {}

  /// Calls `visit` with the name, header and data of every file.
  template <class Visit> void forEach(Visit visit) {
    auto end = endRecord();
    uint64_t position = end.directoryOffset;
    if (end.entries > maxZipFiles)
      fail(source, "expected at most " + std::to_string(maxZipFiles) +
                       " files in the package, got " + std::to_string(end.entries));
    for (unsigned i = 0; i < end.entries; ++i) {
      auto header = read<zip::CentralHeader>(position);
      if (header.signature != zip::centralSignature)
        damaged();
      std::string name = text(position + sizeof header, header.nameLength);
      position += sizeof header + header.nameLength + header.extraLength + header.commentLength;
      if (!isHarmless(name))
        fail(source, "expected plain names of files in the package, got '" + printable(name) + "'");
      visit(name, header, dataOf(header, name));
    }
    if (position != uint64_t{end.directoryOffset} + end.directoryBytes)
      damaged();
  }

private:
  [[noreturn]] void damaged() const {
    fail(source, "the file is damaged or not a package: its directory is not valid");
  }

  template <class Record> Record read(uint64_t position) const {
    if (position > archive.size() || archive.size() - position < sizeof(Record))
      damaged();
    Record record;
    std::memcpy(&record, archive.data() + position, sizeof record);
    return record;
  }

  std::string text(uint64_t position, size_t length) const {
    if (position > archive.size() || archive.size() - position < length)
      damaged();
    return {reinterpret_cast<const char *>(archive.data()) + position, length};
  }

  static std::string printable(std::string name) {
    for (char &c : name)
      c = c < ' ' || c > '~' ? '?' : c;
    return name.substr(0, 80);
  }

  // Packages end with this record; they have no comment after it.
  zip::EndRecord endRecord() const {
    if (archive.size() < sizeof(zip::EndRecord))
      fail(source,
           "expected a package, got a file of " + std::to_string(archive.size()) + " bytes");
    auto end = read<zip::EndRecord>(archive.size() - sizeof(zip::EndRecord));
    if (end.signature != zip::endSignature)
      fail(source, "the file is truncated or not a package: its end is missing");
    if (end.disk != 0 || end.directoryDisk != 0 || end.entriesHere != end.entries ||
        uint64_t{end.directoryOffset} + end.directoryBytes + sizeof end != archive.size())
      damaged();
    return end;
  }

  Bytes dataOf(const zip::CentralHeader &header, const std::string &name) const {
    if (header.method != zip::stored || header.flags != 0 || header.packedBytes != header.bytes)
      fail(source,
           "expected files stored as they are, but '" + name + "' is compressed or encrypted");
    auto local = read<zip::LocalHeader>(header.headerOffset);
    if (local.signature != zip::localSignature || local.bytes != header.bytes ||
        local.packedBytes != header.bytes || local.crc != header.crc ||
        local.method != header.method || local.flags != header.flags ||
        text(header.headerOffset + sizeof local, local.nameLength) != name)
      damaged();
    uint64_t begin =
        uint64_t{header.headerOffset} + sizeof local + local.nameLength + local.extraLength;
    if (begin > archive.size() || archive.size() - begin < header.bytes)
      fail(source, "the package is truncated: '" + name + "' of " + std::to_string(header.bytes) +
                       " bytes does not fit into it");
    return archive.subspan(begin, header.bytes);
  }

  Bytes archive;
  const std::string &source;
};

} // namespace

uint32_t crc32(Bytes data, uint32_t crc) {
  crc = ~crc;
  for (std::byte byte : data)
    crc = crcTable[(crc ^ static_cast<uint32_t>(byte)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

ZipReader::ZipReader(Bytes archive, const std::string &source) : source(source) {
  std::vector<Bytes> taken;
  Directory(archive, source)
      .forEach([&](const std::string &name, const zip::CentralHeader &header, Bytes data) {
        if (!entries.emplace(name, Entry{data, header.crc}).second)
          fail(source, "the package has two files '" + name + "'");
        if (!data.empty())
          taken.push_back(data);
      });
  std::sort(taken.begin(), taken.end(), [](Bytes a, Bytes b) { return a.data() < b.data(); });
  for (size_t i = 1; i < taken.size(); ++i)
    if (taken[i - 1].data() + taken[i - 1].size() > taken[i].data())
      fail(source, "the package is damaged: its files overlap");
}

const ZipReader::Entry &ZipReader::entry(const std::string &name) const {
  auto found = entries.find(name);
  if (found == entries.end())
    fail(source, "expected a package, but there is no '" + name + "' in it");
  return found->second;
}

Bytes ZipReader::file(const std::string &name) const { return entry(name).data; }

std::vector<std::byte> ZipReader::checkedFile(const std::string &name) const {
  const Entry &found = entry(name);
  std::vector<std::byte> copy(found.data.begin(), found.data.end());
  if (crc32(copy) != found.crc)
    fail(source, "the package is damaged: the checksum of '" + name + "' differs");
  return copy;
}

} // namespace headrace
