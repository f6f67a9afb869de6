// How the loops of a kernel run on a processor: a view of a ScheduleRecord with typed members. The
// steps of the kernel's recipe are written from it.
//
//   conv1: tiles rows=6 columns=32 cells=16 pack=0 features=1 prefetch=1 depth=0 order=0
//   softmax1: rows vector=64
//   sum1: walk rows=8 prefetch=1 blocks=64 block=0
#pragma once

#include "transform/recipe/ScheduleLine.h"

#include <optional>

namespace headrace {

struct CpuSchedule {
  enum class Kind {
    Plain,      // loops over single elements, the outer ones shared by threads
    Points,     // vectors along the last dimension
    Transposed, // square tiles that registers transpose
    Rows,       // rows that stay in cache, each in vectors
    Tiles,      // a tile of results in registers, carried over what is accumulated
    Walk,       // blocks of rows, a few at a time through all operators
  };
  Kind kind = Kind::Plain;
  int64_t vector = 0;   // Points, Rows: elements of a vector
  int64_t cell = 0;     // Points: elements of the last dimension that a thread takes; 0: all
  int64_t rows = 0;     // Tiles: of the tile; Walk: that are computed at a time
  int64_t columns = 0;  // Tiles: of the tile; constant weights are packed so
  int64_t cells = 0;    // Plain, Tiles: about how many parts threads share
  int64_t pack = 0;     // Tiles: right-hand side: panels are copied (1), or read in place
  int64_t features = 0; // Tiles: a cell has all rows of a few features (1), or all features of some
  int64_t prefetch = 0; // Tiles: how many panels of weights ahead are fetched while one is used
                        // Walk: the next rows are fetched while some are computed (1)
  int64_t depth = 0;    // Tiles: terms that are added before the next tile has its turn; 0: all
  int64_t order = 0;    // Tiles: in a cell, panels of columns (0) or of rows (1) are outermost
  int64_t blocks = 0;   // Walk: into how many the rows are cut; 0: by their size
  int64_t block = 0;    // Walk: rows of a block; 0: by their number

  bool operator==(const CpuSchedule &) const = default;
  ScheduleRecord record() const;
  /// The schedule that the record gives; parameters that it lacks are 0.
  static CpuSchedule of(const ScheduleRecord &record);
  /// "tiles rows=6 columns=32 cells=16 pack=0 features=1 prefetch=1 depth=0 order=0"
  std::string text() const { return record().text(); }

  static llvm::ArrayRef<llvm::StringLiteral> kindNames(); // in the order of `Kind`
  static llvm::ArrayRef<llvm::StringLiteral> parametersOf(Kind kind);
  int64_t &parameter(llvm::StringRef name);
  int64_t parameter(llvm::StringRef name) const;

  /// The schedules that a text gives to stages. Throws `Error`.
  static std::vector<ScheduleLine> parse(std::string_view text);
  static Kind kindNamed(llvm::StringRef name);
  /// Takes the values that the record gives.
  void take(const ScheduleRecord &given);
};

} // namespace headrace
