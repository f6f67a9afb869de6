// Schedules of contractions, convolutions and windows: a register tile carried over the reduction.
#pragma once

#include "analysis/cost/FeatureTiles.h"
#include "target/cpu/loops/CpuSchedule.h"
#include "target/cpu/recipe/KernelLoops.h"
#include "target/cpu/recipe/StepWriter.h"

namespace headrace {

class TileScheduler {
public:
  /// Schedules the kernel's only reduction.
  explicit TileScheduler(const KernelLoops &loops);

  /// Whether the kernel can be cut into such tiles; the rest needs that.
  bool applies() const;
  CpuSchedule propose() const;
  /// Why a tile cannot be so; empty if it can.
  std::string refusalOf(const CpuSchedule &schedule) const;
  /// Like `refusalOf`, for tiles of other columns than the kernel was formed with, if its weights
  /// were packed in them.
  std::string refusalIfPacked(const CpuSchedule &schedule) const;
  void write(const CpuSchedule &schedule, StepWriter &steps) const;

private:
  struct Tile {
    llvm::SmallVector<int64_t> outermost; // dimensions in the order in which cells follow
    llvm::SmallVector<int64_t> grid;      // per dimension of the root: size of a cell; 0: all of it
    llvm::SmallVector<int64_t> sizes;     // the register tile inside a cell
  };
  Tile tileOf(const CpuSchedule &schedule) const;
  int64_t cellsInCache() const;
  void chooseGrid(Tile &tile, int64_t wantedCells) const;
  std::string writeTiles(const Tile &tile, llvm::ArrayRef<int64_t> order,
                         const CpuSchedule &schedule, StepWriter &steps) const;
  std::optional<int64_t> splitReduction() const;
  bool packingPays(const Tile &tile) const;
  bool rowsAreAdjacent() const;
  int64_t proposeDepth(int64_t columns) const;
  bool featuresComeFirst(const CpuSchedule &schedule) const;
  double operandBytes(unsigned operand) const;
  bool leavesRemainder(int64_t dim, int64_t tile) const;
  std::optional<int64_t> findRow() const;
  int64_t proposeColumns(std::optional<int64_t> rows) const;
  bool readsFarLines() const;
  int64_t rowsInRegisters(int64_t columns) const;
  int64_t maxRows(int64_t columns) const;
  std::string refusalOfRest(const CpuSchedule &schedule) const;
  std::string refusalOfDepth(int64_t depth) const;
  bool prefetchesPanels() const;
  int64_t vectorsOf(int64_t columns) const;

  const KernelLoops &loops;
  mlir::linalg::GenericOp anchor;
  llvm::SmallVector<int64_t> parallel; // dimensions of the root; the last are the features
  std::optional<int64_t> row;
  bool byColumns = false; // a plain matrix on the right: all rows of a cell use a panel
};

} // namespace headrace
