// On-chip memory plan: the parts of an operator's operands and results that are on the chip at a
// time, and where.
#pragma once

#include "target/vta/schedule/AluProgram.h"
#include "target/vta/schedule/OperatorShape.h"
#include "target/vta/schedule/Schedule.h"

namespace headrace::vta {

/// Parts of a memory, all of one size, from `first` on.
struct Slots {
  int64_t size = 0, count = 1, first = 0;
  int64_t place(int64_t slot) const { return first + slot * size; }
};

/// Everything in elements of the memory.
struct ChipPlan {
  ChipPlan(const OperatorShape &shape, const AluProgram &stages, const Schedule &schedule,
           const Configuration &configuration);

  /// Each of `inputs` and `weights` has room for what a step multiplies; more than virtual threads
  /// need if all that is used again fits. `results` has a tile for each virtual thread.
  Slots inputs, weights, results;
  /// The rest of ACC is compute's alone, which does one thing after the other: constants of
  /// channels from 0 on, a copy of the tile, the inputs of a pooling.
  int64_t copyAt = 0, sourceAt = 0;
  bool constantsStay = true;  ///< those of all channels; else those of a tile, loaded with it
  int64_t constantBlocks = 0; ///< blocks of channels that each constant has on the chip

  int64_t accElements() const { return results.first + results.size * results.count; }
};

/// Elements of ACC that can be used: those of second operands of the ALU have addresses of INP's
/// width.
int64_t usableAcc(const OperatorShape &shape, const AluProgram &stages,
                  const Configuration &configuration);

} // namespace headrace::vta
