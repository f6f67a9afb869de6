// Micro-ops in the order they are issued, and the loops found in them.
#pragma once

#include "runtime/vta/InstructionSet.h"

namespace headrace::vta {

/// A sequence of operations for GEMM or ALU.
struct MicroCode {
  enum class Kind { Gemm, Reset, Alu, AluImmediate };
  Kind kind = Kind::Gemm;
  AluOp op = AluOp::Add;
  int imm = 0;
  std::vector<MicroOp> ops;

  static MicroCode gemm() { return {}; }
  static MicroCode reset() { return {Kind::Reset, AluOp::Add, 0, {}}; }
  static MicroCode alu(AluOp op) { return {Kind::Alu, op, 0, {}}; }
  static MicroCode alu(AluOp op, int imm) { return {Kind::AluImmediate, op, imm, {}}; }

  void add(int64_t dst, int64_t src = 0, int64_t wgt = 0) {
    ops.push_back(
        {static_cast<uint32_t>(dst), static_cast<uint32_t>(src), static_cast<uint32_t>(wgt)});
  }
};

/// A few micro-ops in two loops: one instruction.
struct Sweep {
  std::vector<MicroOp> body;
  int64_t iterOut = 1, iterIn = 1;
  MicroOp factorOut, factorIn;
};

/// The limits of one instruction.
struct SweepLimits {
  size_t body;        ///< micro-ops that the buffer holds
  int64_t iterations; ///< of one loop
};

/// The micro-ops as instructions of as few micro-ops as two loops make of them. A sequence that
/// loops do not make small enough for the buffer is cut into several.
std::vector<Sweep> compress(std::span<const MicroOp> ops, const SweepLimits &limits);

/// Splits the micro-ops like `compress`, but without a search for loops.
std::vector<Sweep> chop(std::span<const MicroOp> ops, const SweepLimits &limits);

} // namespace headrace::vta
