// The stages of an operator as instructions of the ALU: as few as do the same.
#pragma once

#include "runtime/vta/InstructionSet.h"
#include "target/vta/schedule/Operator.h"

namespace headrace::vta {

/// One pass over a tile of results, or over the copy next to it.
struct AluPass {
  enum class Kind {
    Immediate, ///< op(target, value)
    Constant,  ///< op(target, constants[value]), a number for each channel
    Beside,    ///< op(results, copy)
    Copy,      ///< copy = results
    Load,      ///< copy = the cells of an input
  };
  Kind kind = Kind::Immediate;
  AluOp op = AluOp::Add;
  bool onCopy = false; ///< Immediate, Constant: the target is the copy
  int32_t value = 0;   ///< Load: the number of the input
  DType type = DType::I8;
};

struct AluProgram {
  std::vector<AluPass> passes;
  std::vector<std::vector<int32_t>> constants; ///< each of a number for every channel

  bool hasCopy() const;
  /// Cycles of compute for an element of results: micro-ops of GEMM and ALU, and transfers.
  double cyclesPerElement(const Configuration &configuration) const;
};

/// The operator's stages. Sums are merged, and what cannot change a result, as its bounds tell, is
/// left out. Immediates that have no room in an instruction become constants of channels.
AluProgram lowerStages(const Operator &op);

} // namespace headrace::vta
