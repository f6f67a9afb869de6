// A program for the accelerator: instructions, and the DRAM they run on.
#pragma once

#include "runtime/vta/BufferLayout.h"
#include "runtime/vta/InstructionSet.h"

#include <filesystem>

namespace headrace::vta {

enum class Role { Input, Output, Weight, Temporary };

/// "input", "output", "weight", "temporary".
std::string_view nameOf(Role role);

/// A tensor in DRAM.
struct Buffer {
  std::string name;
  Role role = Role::Temporary;
  uint64_t offset = 0, bytes = 0;
  DType dtype = DType::I8;
  Shape shape;
  Layout layout;
};

/// A part of the program: instructions that run to their FINISH, or a step of the host by its name.
struct Step {
  bool onHost = false;
  size_t begin = 0, end = 0; ///< instructions
  std::string host;
};

/// A program of the accelerator: instructions, micro-ops and DRAM, and its steps.
struct Program {
  Configuration configuration;
  std::vector<Word> instructions;
  /// The micro-ops as stored in DRAM from microOpOffset on.
  std::vector<uint32_t> microOps;
  uint64_t microOpOffset = 0;
  /// All of it, before the first step.
  std::vector<std::byte> dram;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;

  const Buffer &buffer(std::string_view name) const;
  std::span<std::byte> bytesOf(const Buffer &buffer) {
    return std::span(dram).subspan(buffer.offset, buffer.bytes);
  }
};

/// The five files insn.bin, uop.bin, dram.bin, buffers.json and config.json; docs/vta.md describes
/// them. Creates the directory if it does not exist.
void writeProgram(const Program &program, const std::filesystem::path &folder);
/// Throws Error if a file is missing, damaged or does not fit the others.
Program readProgram(const std::filesystem::path &folder);

/// 16 bytes an instruction.
std::vector<Word> readInstructions(const std::filesystem::path &path);

} // namespace headrace::vta
