// How a library's routine is called: which of those that compute the same, and the blocks that its
// work is cut into. A view of a ScheduleRecord whose kind is the routine, in a line of its own in
// recipes.
//
//   kernel gemm1/call:
//     call: openblas.sgemm rows=256 columns=0 depth=0
//   kernel gemm2/call:
//     call: int8.packed_gemm
//   kernel attention1/call:
//     call: openblas.attention queries=64 keys=0
#pragma once

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "transform/recipe/ScheduleLine.h"

#include "schedule/Space.h"

namespace headrace {

struct CallSchedule {
  std::string routine;
  /// Sizes of the blocks of work, by the routine's parameters (`parametersOf`); 0: as the
  /// sizes suggest.
  llvm::SmallVector<int64_t, 3> blocks;

  ScheduleRecord record() const;
  static CallSchedule of(const ScheduleRecord &record);
  /// "call: openblas.sgemm rows=0 columns=0 depth=0"
  std::string line() const;
  /// Parses a line; what it omits is as in `proposed`. Throws `Error`.
  static CallSchedule parse(std::string_view text, const CallSchedule &proposed);
};

/// The names of a routine's blocks: of products the rows, columns and the depth of a block, of
/// attention its queries and keys, of sorting and linear systems how many a thread takes.
llvm::ArrayRef<llvm::StringLiteral> parametersOf(llvm::StringRef routine);

/// Whether there is anything to decide of the call.
bool hasSchedule(hr::LibraryOp call);
/// The schedule that should be fastest: constant weights packed, blocks by size.
CallSchedule proposeFor(hr::LibraryOp call);
/// Why it cannot be called so; empty if it can.
std::string refusalOf(const CallSchedule &schedule, hr::LibraryOp call);
/// The schedules of a call that has its own; null if there is nothing to decide.
std::unique_ptr<ScheduleSpace> spaceOf(hr::LibraryOp call);

} // namespace headrace
