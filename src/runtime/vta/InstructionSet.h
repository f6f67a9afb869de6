// 128-bit instructions and 32-bit micro-ops: their fields, as the configuration places them.
#pragma once

#include "runtime/vta/Configuration.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::vta {

/// An instruction as it is in memory: bit 0 is the lowest of the first half.
using Word = std::array<uint64_t, 2>;

enum class Opcode { Load = 0, Store = 1, Gemm = 2, Finish = 3, Alu = 4 };
enum class AluOp { Min = 0, Max = 1, Add = 2, Shr = 3, Mul = 4 };

/// Units that run at the same time, each its own instructions in order.
enum class Module { Load, Compute, Store };
constexpr int moduleCount = 3;

/// A queue of tokens from one module to its neighbour.
enum class Queue { LoadToCompute, ComputeToLoad, ComputeToStore, StoreToCompute };
constexpr int queueCount = 4;

/// The queues that an instruction pops or pushes: at most one on either side.
class Queues {
public:
  void add(Queue queue) { queues[count++] = queue; }
  const Queue *begin() const { return queues.data(); }
  const Queue *end() const { return queues.data() + count; }

private:
  std::array<Queue, 2> queues{};
  size_t count = 0;
};

/// The names that listings and reports show.
std::string_view nameOf(Opcode opcode);
std::string_view nameOf(AluOp op);
std::string_view nameOf(Module module);
std::string_view nameOf(Queue queue);
Queue queueBetween(Module from, Module to);

/// All fields of all instructions; those an opcode does not have are 0.
struct Instruction {
  int64_t opcode = 0, popPrev = 0, popNext = 0, pushPrev = 0, pushNext = 0;
  // LOAD and STORE: a rectangle in DRAM, rows one after the other on the chip.
  int64_t memory = 0, sramBase = 0, dramBase = 0, ySize = 0, xSize = 0, xStride = 0;
  int64_t yPadTop = 0, yPadBottom = 0, xPadLeft = 0, xPadRight = 0;
  // GEMM and ALU: micro-ops in two loops.
  int64_t reset = 0, uopBegin = 0, uopEnd = 0, iterOut = 0, iterIn = 0;
  int64_t dstFactorOut = 0, dstFactorIn = 0, srcFactorOut = 0, srcFactorIn = 0;
  int64_t wgtFactorOut = 0, wgtFactorIn = 0;
  int64_t aluOp = 0, useImm = 0, imm = 0;

  bool operator==(const Instruction &) const = default;

  Opcode op() const { return static_cast<Opcode>(opcode); }
  Memory mem() const { return static_cast<Memory>(memory); }
  Module module() const;
  bool isTransfer() const { return op() == Opcode::Load || op() == Opcode::Store; }
  /// Takes or gives tokens only.
  bool movesNothing() const { return isTransfer() && xSize == 0; }

  /// Elements that a LOAD fills on the chip, zeros around the rectangle included.
  int64_t filledElements() const;
  int64_t microOpCount() const { return (uopEnd - uopBegin) * iterOut * iterIn; }

  Queues pops() const;
  Queues pushes() const;
};

/// "LOAD INP", "GEMM", "ALU MAX".
std::string titleOf(const Instruction &instruction);

/// The elements that one operation of GEMM or ALU uses.
struct MicroOp {
  uint32_t dst = 0, src = 0, wgt = 0;
  bool operator==(const MicroOp &) const = default;
};

/// A field of an instruction word.
struct Field {
  std::string_view name;
  int64_t Instruction::*member;
  int begin, width;
  bool isSigned = false;
};

/// The layout of instructions of one configuration.
class InstructionSet {
public:
  explicit InstructionSet(const Configuration &configuration);

  /// Throws Error if a value does not fit its field.
  Word encode(const Instruction &instruction) const;
  uint32_t encode(const MicroOp &op) const;

  struct Decoded {
    std::optional<Instruction> instruction;
    std::string reason; ///< why there is none
  };
  /// Bits that no field has must be 0, so that encode gives the same word back.
  Decoded decode(const Word &word) const;
  MicroOp decode(uint32_t microOp) const;

  /// One line, without the fields that are 0: "LOAD INP      dram_base=64 x_size=4 ; pop
  /// compute->load".
  std::string disassemble(const Instruction &instruction) const;

  std::span<const Field> fieldsOf(Opcode opcode) const;
  /// The largest value of an unsigned field of GEMM.
  int64_t largest(int64_t Instruction::*member) const;

private:
  std::vector<Field> transfer, gemm, alu, finish;
  int dstBits, srcBits, wgtBits;
};

/// Why no instruction set follows from the configuration; empty if one does.
std::string whyNoInstructions(const Configuration &configuration);

} // namespace headrace::vta
