#include "runtime/vta/Configuration.h"

#include "runtime/system/Error.h"
#include "runtime/system/Json.h"
#include "runtime/system/MappedFile.h"
#include "runtime/system/Text.h"
#include "runtime/vta/InstructionSet.h"

#include <algorithm>
#include <array>

namespace headrace::vta {

namespace {

struct Key {
  const char *name;
  int Configuration::*member;
  int least, most;
};

// Buffers end at 64 MiB: what a file asks for is allocated.
constexpr std::array<Key, 9> keys = {{
    {"LOG_INP_WIDTH", &Configuration::logInpWidth, 3, 4},
    {"LOG_WGT_WIDTH", &Configuration::logWgtWidth, 3, 4},
    {"LOG_ACC_WIDTH", &Configuration::logAccWidth, 5, 5},
    {"LOG_BATCH", &Configuration::logBatch, 0, 8},
    {"LOG_BLOCK", &Configuration::logBlock, 0, 8},
    {"LOG_UOP_BUFF_SIZE", &Configuration::logUopBuffer, 0, 26},
    {"LOG_INP_BUFF_SIZE", &Configuration::logInpBuffer, 0, 26},
    {"LOG_WGT_BUFF_SIZE", &Configuration::logWgtBuffer, 0, 26},
    {"LOG_ACC_BUFF_SIZE", &Configuration::logAccBuffer, 0, 26},
}};

constexpr int sramAddressBits = 16;

// Every memory holds at least two elements, so that no field has a width of 0.
void checkDepths(const Configuration &configuration) {
  constexpr std::array<std::pair<Memory, const char *>, 4> sized = {{
      {Memory::Uop, "LOG_UOP_BUFF_SIZE"},
      {Memory::Inp, "LOG_INP_BUFF_SIZE"},
      {Memory::Wgt, "LOG_WGT_BUFF_SIZE"},
      {Memory::Acc, "LOG_ACC_BUFF_SIZE"},
  }};
  for (auto [memory, key] : sized) {
    int depth = configuration.logDepth(memory);
    std::string elements =
        " elements of " + std::to_string(configuration.elementBytes(memory)) + " bytes";
    if (depth < 1)
      throw JsonFault(std::string(key) + ": expected room for 2" + elements + ", got less");
    if (depth > sramAddressBits)
      throw JsonFault(std::string(key) + ": expected at most 65536" + elements +
                      ", which an address on the chip counts, got 2^" + std::to_string(depth));
  }
}

Configuration fromJson(const Json &json) {
  if (!json.is_object())
    throw JsonFault("expected an object, got " + std::string(json.type_name()));
  Configuration configuration;
  for (const Key &key : keys) {
    try {
      configuration.*key.member = static_cast<int>(integer(json, key.name, key.least, key.most));
    } catch (const JsonFault &fault) {
      throw JsonFault(json.contains(key.name) ? std::string(key.name) + ": " + fault.what()
                                              : fault.what());
    }
  }
  for (const auto &[name, value] : json.items()) {
    if (name == "LOG_OUT_WIDTH" && value != configuration.logInpWidth)
      throw JsonFault("LOG_OUT_WIDTH: expected the width of inputs, " +
                      std::to_string(configuration.logInpWidth) + ", got " +
                      value.dump().substr(0, 40));
    bool known = std::ranges::any_of(keys, [&](const Key &key) { return name == key.name; }) ||
                 name == "TARGET" || name == "HW_VER" || name == "LOG_OUT_WIDTH";
    if (!known)
      throw JsonFault("there is no key " + inQuotes(name));
  }
  checkDepths(configuration);
  if (std::string reason = whyNoInstructions(configuration); !reason.empty())
    throw JsonFault(reason);
  return configuration;
}

} // namespace

std::string_view nameOf(Memory memory) {
  constexpr std::array<std::string_view, memoryCount> names = {"UOP", "WGT", "INP",
                                                               "ACC", "OUT", "ACC_8BIT"};
  return names[static_cast<size_t>(memory)];
}

Configuration Configuration::read(const std::filesystem::path &path) {
  auto file = MappedFile::open(path);
  return parse({reinterpret_cast<const char *>(file->data()), file->size()}, path.string());
}

Configuration Configuration::parse(std::string_view text, const std::string &source) {
  Json json = Json::parse(text, nullptr, false);
  try {
    if (json.is_discarded())
      throw JsonFault("expected JSON");
    return fromJson(json);
  } catch (const JsonFault &fault) {
    throw Error(ErrorKind::InvalidFile, escaped(source) + ": " + fault.what());
  }
}

std::string Configuration::json() const {
  Json json;
  for (const Key &key : keys)
    json[key.name] = this->*key.member;
  return json.dump(2) + "\n";
}

int Configuration::logElementBytes(Memory memory) const {
  constexpr int logByte = 3;
  switch (memory) {
  case Memory::Uop:
    return 2;
  case Memory::Wgt:
    return 2 * logBlock + logWgtWidth - logByte;
  case Memory::Inp:
  case Memory::Out:
    return logBatch + logBlock + logInpWidth - logByte;
  case Memory::Acc:
    return logBatch + logBlock + logAccWidth - logByte;
  case Memory::Acc8:
    return logBatch + logBlock;
  }
  throw InternalError("no such memory");
}

int Configuration::logDepth(Memory memory) const {
  switch (memory) {
  case Memory::Uop:
    return logUopBuffer - logElementBytes(memory);
  case Memory::Wgt:
    return logWgtBuffer - logElementBytes(memory);
  case Memory::Inp:
    return logInpBuffer - logElementBytes(memory);
  case Memory::Acc:
  case Memory::Out:
  case Memory::Acc8:
    return logAccBuffer - logElementBytes(Memory::Acc);
  }
  throw InternalError("no such memory");
}

size_t Configuration::alignment() const {
  size_t largest = 64;
  for (int memory = 0; memory < memoryCount; ++memory)
    largest = std::max(largest, elementBytes(static_cast<Memory>(memory)));
  return largest;
}

} // namespace headrace::vta
