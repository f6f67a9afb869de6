#include "runtime/vta/Program.h"

#include "runtime/program/Program.h"
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"
#include "runtime/system/MappedFile.h"
#include "runtime/system/Text.h"
#include "runtime/vta/ProgramDescription.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

namespace headrace::vta {

// Files are read and written as memory is.
static_assert(std::endian::native == std::endian::little);

namespace fs = std::filesystem;

namespace {

constexpr std::array<Role, 4> roles = {Role::Input, Role::Output, Role::Weight, Role::Temporary};

// dram_base counts elements in 32 bits; what a description asks for is allocated only if the
// file has it.
constexpr int64_t maxDramBytes = int64_t{1} << 40;

Json toJson(const Buffer &buffer) {
  Json layout = Json::array();
  for (const Axis &axis : buffer.layout)
    layout.push_back({{"dimension", axis.dimension}, {"block", axis.block}});
  return {{"name", buffer.name},        {"role", nameOf(buffer.role)},   {"offset", buffer.offset},
          {"bytes", buffer.bytes},      {"dtype", nameOf(buffer.dtype)}, {"shape", buffer.shape},
          {"layout", std::move(layout)}};
}

Json toJson(const Step &step) {
  if (step.onHost)
    return {{"engine", hostEngine}, {"step", step.host}};
  return {{"engine", "vta"}, {"begin", step.begin}, {"end", step.end}};
}

} // namespace

Json describe(const Program &program) {
  Json buffers = Json::array(), runs = Json::array();
  for (const Buffer &buffer : program.buffers)
    buffers.push_back(toJson(buffer));
  for (const Step &step : program.steps)
    runs.push_back(toJson(step));
  return {{"buffers", std::move(buffers)},
          {"runs", std::move(runs)},
          {"micro_ops", {{"offset", program.microOpOffset}, {"count", program.microOps.size()}}}};
}

namespace {

Buffer bufferOf(const Json &json, int64_t dramBytes) {
  Buffer buffer;
  buffer.name = text(json, "name");
  std::string role = text(json, "role"), dtype = text(json, "dtype");
  auto found = std::ranges::find(roles, role, [](Role r) { return nameOf(r); });
  if (found == roles.end())
    throw JsonFault("expected the role input, output, weight or temporary, got " + inQuotes(role));
  buffer.role = *found;
  std::optional<DType> type = parseDType(dtype);
  if (!type)
    throw JsonFault("there is no type " + inQuotes(dtype));
  buffer.dtype = *type;
  int64_t offset = integer(json, "offset", 0, dramBytes);
  buffer.offset = static_cast<uint64_t>(offset);
  buffer.bytes = static_cast<uint64_t>(integer(json, "bytes", 0, dramBytes - offset));
  for (const Json &size : list(json, "shape"))
    buffer.shape.push_back(integerOf(size, 0, maxDramBytes));
  for (const Json &axis : list(json, "layout"))
    buffer.layout.push_back(
        {integer(axis, "dimension", 0), integer(axis, "block", 1, maxDramBytes)});
  if (std::string reason = unsupportedLayoutReason(buffer.layout, buffer.shape); !reason.empty())
    throw JsonFault("layout: " + reason);
  // Overflow is an Error of its own, which the caller gives the file's name.
  int64_t elements = paddedElements(buffer.layout, buffer.shape);
  if (static_cast<uint64_t>(elements) != buffer.bytes / sizeOf(buffer.dtype) ||
      buffer.bytes % sizeOf(buffer.dtype) != 0)
    throw JsonFault("expected the bytes of " + std::to_string(elements) + " elements, got " +
                    std::to_string(buffer.bytes));
  return buffer;
}

Step stepOf(const Json &json, size_t instructions) {
  std::string engine = text(json, "engine");
  if (engine == hostEngine)
    return {true, 0, 0, text(json, "step")};
  if (engine != "vta")
    throw JsonFault("expected the engine vta or cpu, got " + inQuotes(engine));
  auto limit = static_cast<int64_t>(instructions);
  int64_t begin = integer(json, "begin", 0, limit);
  return {false, static_cast<size_t>(begin),
          static_cast<size_t>(integer(json, "end", begin, limit)), ""};
}

void checkApart(const Program &program) {
  struct Piece {
    uint64_t offset, bytes;
    std::string name;
  };
  std::vector<Piece> pieces = {{program.microOpOffset, program.microOps.size() * 4, "micro-ops"}};
  for (const Buffer &buffer : program.buffers)
    pieces.push_back({buffer.offset, buffer.bytes, inQuotes(buffer.name)});
  std::erase_if(pieces, [](const Piece &piece) { return piece.bytes == 0; });
  std::ranges::sort(pieces, {}, &Piece::offset);
  for (size_t i = 1; i < pieces.size(); ++i)
    if (pieces[i - 1].offset + pieces[i - 1].bytes > pieces[i].offset)
      throw JsonFault(pieces[i - 1].name + " and " + pieces[i].name + " overlap in DRAM");
}

} // namespace

void readDescription(Program &program, const Json &json, int64_t dramBytes) {
  std::set<std::string> names;
  for (const Json &item : list(json, "buffers")) {
    try {
      program.buffers.push_back(bufferOf(item, dramBytes));
    } catch (const std::runtime_error &fault) { // JsonFault, or Error of a size that overflows
      bool named = item.is_object() && item.contains("name") && item["name"].is_string();
      throw JsonFault("buffer " +
                      (named ? inQuotes(item["name"].get<std::string>())
                             : std::to_string(program.buffers.size())) +
                      ": " + fault.what());
    }
    if (!names.insert(program.buffers.back().name).second)
      throw JsonFault("there are two buffers " + inQuotes(program.buffers.back().name));
  }
  for (const Json &item : list(json, "runs"))
    program.steps.push_back(stepOf(item, program.instructions.size()));
  const Json &microOps = member(json, "micro_ops");
  auto count = static_cast<int64_t>(program.microOps.size());
  if (integer(microOps, "count", 0) != count)
    throw JsonFault("micro_ops: expected the " + std::to_string(count) + " of uop.bin, got " +
                    member(microOps, "count").dump());
  if (4 * count > dramBytes)
    throw JsonFault("micro_ops: expected them in DRAM, which has " + std::to_string(dramBytes) +
                    " bytes");
  program.microOpOffset =
      static_cast<uint64_t>(integer(microOps, "offset", 0, dramBytes - 4 * count));
  checkApart(program);
}

namespace {

template <class T> std::vector<T> readElements(const fs::path &path, bool mayBeEmpty) {
  std::error_code error;
  if (mayBeEmpty && fs::is_regular_file(path, error) && fs::file_size(path, error) == 0)
    return {};
  auto file = MappedFile::open(path);
  if (file->size() % sizeof(T) != 0)
    throw Error(ErrorKind::InvalidFile, path.string() + ": expected a multiple of " +
                                            std::to_string(sizeof(T)) + " bytes, got " +
                                            std::to_string(file->size()));
  std::vector<T> elements(file->size() / sizeof(T));
  std::memcpy(elements.data(), file->data(), file->size());
  return elements;
}

} // namespace

std::string_view nameOf(Role role) {
  constexpr std::array<std::string_view, 4> names = {"input", "output", "weight", "temporary"};
  return names[static_cast<size_t>(role)];
}

const Buffer &Program::buffer(std::string_view name) const {
  auto found = std::ranges::find(buffers, name, &Buffer::name);
  if (found == buffers.end())
    throw Error(ErrorKind::InvalidArgument, "there is no buffer " + inQuotes(name));
  return *found;
}

void writeProgram(const Program &program, const fs::path &folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw Error(ErrorKind::Io,
                folder.string() + ": cannot create the directory: " + error.message());
  auto write = [&](const char *name, auto elements) {
    writeFileAtomically(folder / name, {std::as_bytes(std::span(elements))});
  };
  write("insn.bin", std::span(program.instructions));
  write("uop.bin", std::span(program.microOps));
  write("dram.bin", std::span(program.dram));
  write("buffers.json", std::string_view(describe(program).dump(2) + "\n"));
  write("config.json", std::string_view(program.configuration.json()));
}

std::vector<Word> readInstructions(const fs::path &path) { return readElements<Word>(path, false); }

Program readProgram(const fs::path &folder) {
  Program program;
  program.configuration = Configuration::read(folder / "config.json");
  program.instructions = readInstructions(folder / "insn.bin");
  program.microOps = readElements<uint32_t>(folder / "uop.bin", true);
  program.dram = readElements<std::byte>(folder / "dram.bin", true);
  fs::path description = folder / "buffers.json";
  auto file = MappedFile::open(description);
  try {
    Json json =
        Json::parse(reinterpret_cast<const char *>(file->data()),
                    reinterpret_cast<const char *>(file->data()) + file->size(), nullptr, false);
    if (json.is_discarded())
      throw JsonFault("expected JSON");
    readDescription(program, json, static_cast<int64_t>(program.dram.size()));
  } catch (const JsonFault &fault) {
    throw Error(ErrorKind::InvalidFile, description.string() + ": " + fault.what());
  }
  auto inDram = std::span(program.dram).subspan(program.microOpOffset, program.microOps.size() * 4);
  if (!std::ranges::equal(inDram, std::as_bytes(std::span(program.microOps))))
    throw Error(ErrorKind::InvalidFile, (folder / "uop.bin").string() +
                                            ": expected the micro-ops that dram.bin has at byte " +
                                            std::to_string(program.microOpOffset));
  return program;
}

} // namespace headrace::vta
