// The memories on the chip, and the effect of instructions on them and the DRAM next to it. Every
// access is checked; a wrong one throws Fault.
#pragma once

#include "runtime/vta/AccessOrder.h"
#include "runtime/vta/Dram.h"
#include "runtime/vta/Fault.h"
#include "runtime/vta/Program.h"

namespace headrace::vta {

/// The state of one run. Nothing on the chip outlives it.
class Chip {
public:
  /// `instructions` are those of the run, the first of which has the number `first`.
  Chip(const Configuration &configuration, Dram &dram, std::span<const Instruction> instructions,
       size_t first);

  bool mayBegin(size_t index) const { return order.mayBegin(instructions[index]); }
  void execute(size_t index);

private:
  void load(const Instruction &instruction);
  void loadRow(const Instruction &instruction, size_t element, uint64_t dramElement);
  void store(const Instruction &instruction);
  void gemm(const Instruction &instruction);
  template <class Inp, class Wgt> void gemmSweep(const Instruction &instruction);
  void alu(const Instruction &instruction);
  void finish() const;

  enum class Use { Gemm, GemmReset, Alu, AluImmediate };
  void checkSweep(const Instruction &instruction, Use use);
  template <class Body> void sweep(const Instruction &instruction, Body body);

  void readElement(AccessLog &log, Memory memory, size_t element);
  void writeElement(AccessLog &log, Memory memory, size_t element);
  void touchDram(uint64_t offset, uint64_t bytes, bool writes);
  void checkRange(Memory memory, int64_t begin, int64_t count) const;
  AccessLog &logOf(Memory memory);
  std::byte *accumulator(size_t element) { return acc.data() + element * accBytes; }

  [[noreturn]] void fail(FaultKind kind, const std::string &message) const;
  [[noreturn]] void failRace(const AccessLog::Conflict &conflict, const std::string &what) const;
  std::string elementName(Memory memory, size_t element) const;

  const Configuration &configuration;
  InstructionSet instructionSet;
  Dram &dram;
  std::span<const Instruction> instructions;
  size_t first, current = 0;
  std::array<std::vector<size_t>, moduleCount> byModule; ///< instructions by their epoch - 1
  HappensBefore order;
  size_t accBytes;
  std::vector<MicroOp> uop;
  std::vector<std::byte> inp, wgt, acc;
  AccessLog uopLog, inpLog, wgtLog, accLog, dramLog;
};

} // namespace headrace::vta
