#include "runtime/vta/KernelCode.h"

#include "runtime/system/Error.h"
#include "runtime/vta/ProgramDescription.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace headrace::vta {

namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// The digit that a character is; 64 for none.
constexpr auto digitOf = [] {
  std::array<uint8_t, 256> values{};
  values.fill(64);
  for (size_t i = 0; i < digits.size(); ++i)
    values[static_cast<uint8_t>(digits[i])] = static_cast<uint8_t>(i);
  return values;
}();
/// Tensors of a kernel; what a machine has is checked when it is allocated.
constexpr int64_t maxBytes = int64_t{1} << 34;

std::string encoded(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < count ? std::to_integer<uint32_t>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j)
      text += j <= count ? digits[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::vector<std::byte> decoded(const std::string &text) {
  if (text.size() % 4 != 0)
    throw JsonFault("expected bytes as base64");
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    uint32_t group = 0;
    size_t count = 0;
    for (size_t j = 0; j < 4; ++j) {
      uint32_t digit = digitOf[static_cast<uint8_t>(text[i + j])];
      bool isDigit = digit < digits.size();
      bool isEnd = text[i + j] == '=' && j >= 2 && i + 4 == text.size();
      if (isDigit ? count != j : !isEnd)
        throw JsonFault("expected bytes as base64");
      count += isDigit;
      group = group << 6 | (isDigit ? digit : 0);
    }
    for (size_t j = 0; j + 1 < count; ++j)
      bytes.push_back(static_cast<std::byte>(group >> (16 - 8 * j) & 255));
  }
  return bytes;
}

template <class T> std::vector<T> elements(const Json &json, const char *name) {
  std::vector<std::byte> bytes = decoded(text(json, name));
  if (bytes.size() % sizeof(T) != 0)
    throw JsonFault(std::string("expected whole elements in '") + name + "'");
  std::vector<T> result(bytes.size() / sizeof(T));
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

/// DRAM is what buffers and micro-ops take, each with a gap before it at most.
void requireNeeded(const Program &program, int64_t dramBytes) {
  size_t gap = program.configuration.alignment();
  uint64_t needed = program.microOps.size() * 4 + gap;
  for (const Buffer &buffer : program.buffers)
    needed += buffer.bytes + gap;
  if (static_cast<uint64_t>(dramBytes) > needed + gap)
    throw JsonFault("expected at most " + std::to_string(needed + gap) + " bytes of DRAM, got " +
                    std::to_string(dramBytes));
}

} // namespace

std::string toText(const KernelCode &code) {
  const Program &program = code.program;
  Json weights = Json::array();
  for (const Buffer &buffer : program.buffers)
    weights.push_back(buffer.role == Role::Weight
                          ? encoded(std::span(program.dram).subspan(buffer.offset, buffer.bytes))
                          : "");
  return Json{{"configuration", Json::parse(program.configuration.json())},
              {"operands", code.operands},
              {"dram", program.dram.size()},
              {"description", describe(program)},
              {"instructions", encoded(std::as_bytes(std::span(program.instructions)))},
              {"micro_ops", encoded(std::as_bytes(std::span(program.microOps)))},
              {"weights", std::move(weights)}}
      .dump();
}

KernelCode kernelCodeOf(std::string_view given) {
  Json json = parseJson(given, "code of a VTA kernel");
  KernelCode code;
  Program &program = code.program;
  try {
    program.configuration = Configuration::parse(member(json, "configuration").dump(), "code");
  } catch (const Error &error) {
    throw JsonFault(error.what());
  }
  program.instructions = elements<Word>(json, "instructions");
  program.microOps = elements<uint32_t>(json, "micro_ops");
  int64_t bytes = integer(json, "dram", 0, maxBytes);
  try {
    readDescription(program, member(json, "description"), bytes);
  } catch (const Error &error) { // a size that overflows
    throw JsonFault(error.what());
  }
  requireNeeded(program, bytes);
  program.dram.resize(static_cast<size_t>(bytes));
  std::memcpy(program.dram.data() + program.microOpOffset, program.microOps.data(),
              program.microOps.size() * 4);
  const Json &weights = list(json, "weights");
  if (weights.size() != program.buffers.size())
    throw JsonFault("expected weights of every buffer");
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].role != Role::Weight)
      continue;
    std::vector<std::byte> data = decoded(text(weights[i]));
    if (data.size() != program.buffers[i].bytes)
      throw JsonFault("expected " + std::to_string(program.buffers[i].bytes) + " bytes of '" +
                      program.buffers[i].name + "', got " + std::to_string(data.size()));
    std::ranges::copy(data, program.bytesOf(program.buffers[i]).begin());
  }
  auto last = static_cast<int64_t>(program.buffers.size()) - 1;
  for (const Json &operand : list(json, "operands"))
    code.operands.push_back(static_cast<size_t>(integerOf(operand, 0, last)));
  if (code.operands.empty() || program.buffers[code.operands.back()].role != Role::Output)
    throw JsonFault("expected operands of which the last is an output");
  return code;
}

} // namespace headrace::vta
