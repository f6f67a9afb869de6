// The part of a kernel's schedule that is decided when the kernel is formed, since its operands or
// results lie accordingly: the tiles that constant weights are packed in, and the blocks that a
// walk cuts its rows into. A step of the recipe may say it (`pack gemm1 by 32`), or the line of the
// kernel's schedule (`map: tiles columns=32`); what was decided goes on with the kernel, so that
// its schedule is chosen, checked and varied with it.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace headrace {

/// On a kernel and its module: a dictionary of the numbers that were decided, as schedules call
/// them.
inline constexpr llvm::StringLiteral kFormAttr = "hr.form";

/// The number of columns of the tiles that constant weights are packed in.
struct Packing {
  std::optional<int64_t> wanted; // by a step; 1: they are not packed
  std::optional<int64_t> tile;   // the columns of the register tile, if the schedule gives them
  int64_t columns = 0;           // what was chosen; 0 if there is nothing to pack
  int64_t features = 0;          // all columns
  std::string refusal;           // why not as requested
};

/// How row-blocked fusion splits its rows: into a number of blocks if something is reduced over all
/// rows and every block leaves a partial result, else into blocks of a number of rows.
struct WalkBlocks {
  std::optional<int64_t> wantedBlocks, wantedBlock; // by the schedule
  int64_t blocks = 0;                               // how many; 0: as many as there are
  int64_t block = 0;                                // rows of each; 0: follows from their number
  int64_t unit = 1;                                 // rows of a block are a multiple of it

  /// Why rows cannot be cut so; empty if they can.
  std::string refusalOf(int64_t otherBlocks, int64_t otherBlock) const;
};

struct KernelForm {
  Packing packing;
  WalkBlocks walk;

  /// With the numbers that the kernel's schedule gives, empty if the recipe has none.
  static KernelForm given(llvm::StringRef schedule);
  /// The decisions, for the kernel; null if there are none.
  mlir::DictionaryAttr attribute(mlir::MLIRContext *context) const;
  /// The decisions on that kernel.
  static KernelForm of(mlir::Operation *kernel);
};

} // namespace headrace
