// Shapes and resource limits of the templates of matrix products, shared by the code that writes
// them and the checks of their schedules.
#pragma once

#include "target/cuda/schedule/Schedule.h"

namespace headrace::cuda {

inline constexpr int64_t kMaxThreads = 1024;            // of a block
inline constexpr int64_t kStaticSharedBytes = 48 << 10; // that a function may declare
inline constexpr int64_t kSharedBytes = 227 << 10;      // that a block may have
inline constexpr int64_t kRegisters = 64 << 10;         // of a multiprocessor
inline constexpr int64_t kMaxRegisters = 255;           // of a thread

/// Schedules "product" and "tensorcores": registers of a thread for its sums, for what it brings of
/// the next tiles of operands of that many bits, and for fragments and indices.
inline int64_t productRegisters(const Schedule &schedule, int64_t bits) {
  constexpr int64_t kOthers = 48;
  int64_t sums = schedule.tileM * schedule.tileN / schedule.threads;
  int64_t brought = (schedule.tileM + schedule.tileN) * schedule.tileK / schedule.threads;
  return sums + brought * bits / 32 + kOthers;
}

/// Schedule "product".
struct ThreadProductShape {
  static constexpr int64_t kVector = 4; // elements that a thread loads at once
  /// A warp has 4 x 8 threads.
  static constexpr int64_t kWarpRows = 4, kWarpColumns = 8;
};

/// Schedule "tensorcores".
struct TensorCoreShape {
  static constexpr int64_t kVector = 8;                           // 16 bytes
  static constexpr int64_t kRows = 16, kColumns = 8, kDepth = 16; // of one instruction
  static constexpr int64_t kElementBytes = 2;
};

/// Schedule "warpgroups".
struct WarpgroupShape {
  static constexpr int64_t kGroup = 128;    // threads of a warp group
  static constexpr int64_t kGroupRows = 64; // that one instruction multiplies
  static constexpr int64_t kDepth = 16;     // of one instruction
  static constexpr int64_t kRowBytes = 128; // of a tile's row in shared memory: the swizzle's width
  static constexpr int64_t kElementBytes = 2;

  static int64_t groups(const Schedule &schedule) { return schedule.tileM / kGroupRows; }
  /// Where barriers and results on their way out begin in shared memory.
  static int64_t barriersAt(const Schedule &schedule) {
    return schedule.stages * (schedule.tileM + schedule.tileN) * schedule.tileK * kElementBytes;
  }
  static int64_t stagedAt(const Schedule &schedule) {
    return barriersAt(schedule) + 16 * schedule.stages;
  }
  /// A group's results go out a few columns at a time, 128 bytes of a row; rows are longer by 16
  /// bytes, so that they begin in different banks.
  static constexpr int64_t kStagedBytes = kGroupRows * (kRowBytes + 16);
  static int64_t sharedBytes(const Schedule &schedule) {
    return stagedAt(schedule) + groups(schedule) * kStagedBytes;
  }
};

/// Schedule "tiles": elements of a tile along each of its dimensions.
inline constexpr int64_t kTransposedTile = 32;

} // namespace headrace::cuda
