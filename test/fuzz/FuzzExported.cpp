// Any bytes as a program that PyTorch exported: read and imported. Most mutations keep the archive
// and change values of the program's JSON, since those of bytes seldom get further than the
// archive.
#include "driver/programs/ModelFile.h"
#include "frontend/aten/exported/Archive.h"
#include "frontend/aten/exported/Json.h"
#include "package/ZipFormat.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <cstring>
#include <random>

using namespace headrace;
using aten::Json;

/// Of libFuzzer; builds without it only feed the seeds.
extern "C" __attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size,
                                                         size_t maxSize);

namespace {

using Files = std::map<std::string, std::string>;

Files filesOf(const uint8_t *data, size_t size) {
  aten::Archive archive(std::as_bytes(std::span(data, size)), "seed");
  Files files;
  for (const char *directory : {"models", "data"})
    for (const std::string &path : archive.pathsBelow(directory)) {
      aten::Bytes bytes = archive.file(path);
      files["archive/" + path] = {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
    }
  return files;
}

template <class Record> void append(std::string &text, const Record &record) {
  text.append(reinterpret_cast<const char *>(&record), sizeof record);
}

std::string zipOf(const Files &files) {
  std::string archive, directory;
  for (const auto &[path, content] : files) {
    zip::LocalHeader local;
    zip::CentralHeader central;
    central.headerOffset = static_cast<uint32_t>(archive.size());
    local.bytes = local.packedBytes = central.bytes = central.packedBytes =
        static_cast<uint32_t>(content.size());
    local.nameLength = central.nameLength = static_cast<uint16_t>(path.size());
    append(archive, local);
    archive += path + content;
    append(directory, central);
    directory += path;
  }
  zip::EndRecord end;
  end.entries = end.entriesHere = static_cast<uint16_t>(files.size());
  end.directoryOffset = static_cast<uint32_t>(archive.size());
  end.directoryBytes = static_cast<uint32_t>(directory.size());
  archive += directory;
  append(archive, end);
  return archive;
}

using Random = std::minstd_rand;

size_t below(Random &random, size_t end) {
  return std::uniform_int_distribution<size_t>(0, end - 1)(random);
}

void collect(Json &json, std::vector<Json *> &found) {
  found.push_back(&json);
  if (json.is_structured())
    for (Json &each : json)
      collect(each, found);
}

/// Replaces a value by one nearby or by another of the program, or removes or repeats an element.
void change(Json &program, Random &random) {
  std::vector<Json *> values;
  collect(program, values);
  Json &value = *values[below(random, values.size())];
  static const std::vector<int64_t> integers{0,  1,  -1,        2,         3,        7,
                                             64, -2, INT32_MAX, INT64_MAX, INT64_MIN};
  if (value.is_number_integer() && below(random, 4))
    value = below(random, 2) ? integers[below(random, integers.size())]
                             : static_cast<int64_t>(value.get<uint64_t>() + below(random, 5) - 2);
  else if (value.is_boolean())
    value = !value.get<bool>();
  else if (value.is_array() && !value.empty() && below(random, 2))
    value.erase(value.begin() + static_cast<std::ptrdiff_t>(below(random, value.size())));
  else if (value.is_array() && !value.empty())
    value.push_back(Json(value[below(random, value.size())]));
  else
    value = Json(*values[below(random, values.size())]);
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  Random random(seed);
  if (below(random, 8) == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  try {
    Files files = filesOf(data, size);
    auto which = std::ranges::find_if(files, [&](const auto &file) {
      return file.first.ends_with(".json") &&
             (file.first.starts_with("archive/models/") || below(random, 8) == 0);
    });
    if (which == files.end())
      return LLVMFuzzerMutate(data, size, maxSize);
    Json program = Json::parse(which->second);
    for (size_t i = below(random, 3) + 1; i-- > 0;)
      change(program, random);
    which->second = program.dump(-1, ' ', false, Json::error_handler_t::replace);
    std::string archive = zipOf(files);
    if (archive.size() <= maxSize) {
      std::memcpy(data, archive.data(), archive.size());
      return archive.size();
    }
  } catch (const Error &) {           // NOLINT(bugprone-empty-catch): not an archive anymore
  } catch (const Json::exception &) { // NOLINT(bugprone-empty-catch): nor JSON
  }
  return LLVMFuzzerMutate(data, size, maxSize);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<std::byte> bytes(size + 2);
  std::memcpy(bytes.data(), data, size);
  // Other bytes are an ONNX file, which has a fuzz target.
  bytes[0] = std::byte{'P'}, bytes[1] = std::byte{'K'};
  bytes.resize(std::max<size_t>(size, 2));
  try {
    (void)loadBytes(bytes, "fuzz.pt2", {});
  } catch (const Error &) { // NOLINT(bugprone-empty-catch): what most inputs end in
  }
  return 0;
}
