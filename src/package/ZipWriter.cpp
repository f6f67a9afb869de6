#include "package/Zip.h"
#include "package/ZipFormat.h"
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"

#include <list>

namespace headrace {

namespace {

constexpr uint64_t pageBytes = 4096;
// The extra field that Android's tools pad with; readers skip what they do not know.
constexpr uint16_t paddingId = 0xd935;
constexpr uint64_t paddingHeaderBytes = 4;

template <class Record> void append(std::string &text, const Record &record) {
  text.append(reinterpret_cast<const char *>(&record), sizeof record);
}

// Bytes of an extra field that make the data behind it start at a page.
uint64_t paddingAt(uint64_t position) {
  uint64_t padding = (pageBytes - position % pageBytes) % pageBytes;
  return padding > 0 && padding < paddingHeaderBytes ? padding + pageBytes : padding;
}

} // namespace

void ZipWriter::add(std::string name, std::vector<Bytes> pieces) {
  files.push_back({std::move(name), std::move(pieces)});
}

void ZipWriter::write(const std::filesystem::path &path) const {
  std::list<std::string> headers;
  std::vector<Bytes> all;
  std::string directory;
  uint64_t position = 0;
  auto emit = [&](Bytes piece) {
    all.push_back(piece);
    position += piece.size();
  };
  for (const File &file : files) {
    uint64_t bytes = 0;
    uint32_t crc = 0;
    for (Bytes piece : file.pieces) {
      bytes += piece.size();
      crc = crc32(piece, crc);
    }
    if (position + bytes + pageBytes * 2 > maxZipBytes)
      throw Error(ErrorKind::Unsupported, path.string() +
                                              ": expected a package of less than 4 GiB, got " +
                                              std::to_string(position + bytes) + " bytes");
    zip::LocalHeader local;
    local.crc = crc;
    local.packedBytes = local.bytes = static_cast<uint32_t>(bytes);
    local.nameLength = static_cast<uint16_t>(file.name.size());
    uint64_t padding = paddingAt(position + sizeof local + file.name.size());
    local.extraLength = static_cast<uint16_t>(padding);

    zip::CentralHeader central;
    central.crc = crc;
    central.packedBytes = central.bytes = local.bytes;
    central.nameLength = local.nameLength;
    central.headerOffset = static_cast<uint32_t>(position);
    append(directory, central);
    directory += file.name;

    std::string &header = headers.emplace_back();
    append(header, local);
    header += file.name;
    if (padding > 0) {
      append(header, paddingId);
      append(header, static_cast<uint16_t>(padding - paddingHeaderBytes));
      header.append(padding - paddingHeaderBytes, '\0');
    }
    emit(std::as_bytes(std::span(header)));
    for (Bytes piece : file.pieces)
      emit(piece);
  }
  zip::EndRecord end;
  end.entries = end.entriesHere = static_cast<uint16_t>(files.size());
  end.directoryBytes = static_cast<uint32_t>(directory.size());
  end.directoryOffset = static_cast<uint32_t>(position);
  append(directory, end);
  emit(std::as_bytes(std::span(directory)));
  writeFileAtomically(path, all);
}

} // namespace headrace
