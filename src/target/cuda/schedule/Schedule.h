// How a kernel's operations are given to blocks, warps and threads: a view of a ScheduleRecord with
// typed members, on each operation that is launched. An operation without one is inlined: computed
// where it is read.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include "schedule/Schedule.h"
#include <string>
#include <vector>

namespace headrace::cuda {

inline constexpr llvm::StringLiteral kScheduleAttr = "cuda.schedule";

struct Schedule {
  enum class Kind {
    Points,      // a thread has `vector` neighbouring points of the result
    Rows,        // `lanes` threads share a row; its elements stay in registers if `held` > 0
    Columns,     // a thread (or block: `lanes` > 1) has a column; `splits` of them share it
    Tiles,       // a block moves a square tile through shared memory (transposes)
    Product,     // a block has a tile of a matrix product in registers
    TensorCores, // the same on tensor cores, a warp at a time
    Warpgroups,  // the same by warp groups, fed by the copy engine
  };
  Kind kind = Kind::Points;
  int64_t threads = 256; // of a block
  int64_t vector = 1;    // neighbouring elements that a thread has
  // Rows
  int64_t lanes = 0;
  int64_t held = 0; // vectors of a row that each of its threads holds
  // Columns, Product, TensorCores: blocks that share the reduction
  int64_t splits = 1;
  // Tiles: the dimension of the result along which what is read lies
  int64_t along = 0;
  // Product: the tiles of a block and of a thread
  int64_t tileM = 0, tileN = 0, tileK = 0, threadM = 0, threadN = 0;
  // Warpgroups: tiles under way in shared memory, and blocks that share all tiles
  int64_t stages = 0, blocks = 0;
  // and the elements of which rows of operands must have a multiple: others are copied first
  int64_t padded = 0;

  ScheduleRecord record() const;
  /// The schedule that the record gives, of a kind that there is; what it lacks is as in `base`.
  static Schedule of(const ScheduleRecord &record, Schedule base);
  /// On one line, as `explain` shows it and recipes say it.
  std::string text() const { return record().text(); }
  mlir::DictionaryAttr attribute(mlir::MLIRContext *context) const;
  /// The operation's; nothing if it has none.
  static std::optional<Schedule> of(mlir::Operation *op);

  static llvm::ArrayRef<llvm::StringLiteral> kindNames(); // in the order of `Kind`
  static std::optional<Kind> kindNamed(llvm::StringRef name);
  /// The parameters that a launch of that kind has, by name.
  static llvm::ArrayRef<llvm::StringLiteral> parametersOf(Kind kind);
  int64_t &parameter(llvm::StringRef name);
};

/// Whether it is one of the kinds of matrix products.
inline bool isProduct(Schedule::Kind kind) {
  return kind == Schedule::Kind::Product || kind == Schedule::Kind::TensorCores ||
         kind == Schedule::Kind::Warpgroups;
}

/// A launch as a recipe gives it: its kind and some parameters. The others are to be chosen.
struct GivenSchedule {
  Schedule::Kind kind = Schedule::Kind::Points;
  std::vector<std::pair<std::string, int64_t>> parameters;

  bool has(llvm::StringRef parameter) const;
  std::string text() const;
};

} // namespace headrace::cuda
