// Schedules of a kernel on a CPU: the one that should be fastest, which others are legal, and
// the steps of the recipe that carries one out.
#pragma once

#include "target/cpu/loops/CpuSchedule.h"
#include "target/cpu/recipe/KernelLoops.h"
#include "transform/recipe/Recipe.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace headrace {

class KernelScheduler {
public:
  KernelScheduler(mlir::func::FuncOp kernel, const Machine &machine);

  CpuSchedule propose() const;
  /// A schedule of this kind, which need not be legal for the kernel.
  CpuSchedule propose(CpuSchedule::Kind kind) const;
  /// Why the kernel cannot run so; empty if it can.
  std::string refusalOf(const CpuSchedule &schedule) const;
  /// Why the kernel runs in plain loops; empty if it has a better schedule.
  std::string whyPlain() const;
  /// Whether it has a reduction among its loops, a product's or another.
  bool reduces() const {
    return loops.contents.rootGeneric() && !loops.contents.reductions.empty();
  }
  /// Legal values of a parameter that are worth trying, the others staying as they are.
  llvm::SmallVector<int64_t> domainOf(const CpuSchedule &schedule, llvm::StringRef name) const;
  /// The schedule as steps of a recipe, which a user could write.
  Recipe write(const CpuSchedule &schedule) const;

  /// The stage that a line on the kernel's schedule names.
  llvm::StringRef stage() const;
  /// Whether the kernel has loops that a schedule can be chosen for.
  bool hasChoice() const;
  /// A legal schedule of each kind other than the proposed one's.
  std::vector<CpuSchedule> otherKinds() const;

private:
  CpuSchedule::Kind naturalKind() const;
  bool isEmpty() const;
  bool canRunByRows() const;
  int64_t vectorLength(int64_t size) const;
  int64_t proposeRowVector() const;
  bool hasNarrowIntegers() const;
  CpuSchedule proposePoints() const;

  KernelLoops loops;
  mlir::scf::ForallOp walk; // null if the kernel walks no blocks of rows
};

} // namespace headrace
