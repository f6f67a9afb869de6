// The loops of a program's stages, as recipes see and change them.
//
// A stage computes one value at the points of its axes; its loops start as one per axis. A step
// changes them, or is rejected with the reason and changes nothing. There is no MLIR in it: the
// model of a program is the same for someone who writes a recipe and for the compiler that chooses
// one.
#pragma once

#include "transform/recipe/Recipe.h"

#include <map>
#include <optional>

namespace headrace {

struct StageAxis {
  std::string name;
  /// How many points; unknown if only the run tells.
  std::optional<int64_t> extent;
  /// Combined away rather than kept in the result.
  bool reduction = false;
};

/// One dimension of a value that is read: a sum of axes times coefficients.
struct ReadDim {
  std::vector<std::pair<int, int64_t>> terms;
  std::optional<int64_t> extent;
  /// The axis that alone iterates over all of it; -1 if there is no such axis.
  int plainAxis() const;
};

/// A value that a stage reads: another stage's, or an input of the program.
struct StageRead {
  std::string source;
  std::vector<ReadDim> dims;
  /// Read by index or in an order that no sum of axes describes: all of it may be needed.
  bool irregular = false;
  /// The type of its elements.
  std::string type{};
};

/// A part of an axis that a loop walks: every iteration covers `step` of its points.
struct LoopPart {
  int axis = 0;
  int64_t step = 1;
  std::optional<int64_t> extent;
};

struct Loop {
  enum class Kind { Serial, Parallel, Unrolled, Vectorized, Tensorized };
  std::string name;
  /// More than one if loops were fused.
  std::vector<LoopPart> parts;
  Kind kind = Kind::Serial;

  /// How often it runs.
  std::optional<int64_t> extent() const;
  /// Part of a register tile, if everything inside it is as well.
  bool isUnrolled() const { return kind == Kind::Unrolled || kind == Kind::Vectorized; }
};

struct Stage {
  std::string name;
  std::vector<StageAxis> axes;
  std::vector<StageRead> reads;
  /// The axis of each dimension of its value; -1 if no single axis corresponds to it.
  std::vector<int> result;
  /// Its value leaves the program, or the kernel.
  bool isOutput = false;
  /// Has loops that steps can speak of; what moves data in another order has none.
  bool hasLoops = true;
  /// The function of elements that it computes, as text: equal texts are equal functions. Empty
  /// if positions matter too, or if it is not known.
  std::string formula;
  /// The type of its value's elements.
  std::string type;
  /// The order in which a reduction combines its elements does not matter.
  bool reorderable = false;

  std::vector<Loop> loops;
  struct Place {
    std::string stage;
    /// Empty: in the same kernel, outside its loops.
    std::string loop;
  };
  /// Inside which loop it is computed; a stage without is a kernel of its own.
  std::optional<Place> place;
  struct Pack {
    std::string source, loop;
  };
  std::vector<Pack> packs;
  /// How many panels ahead it fetches what it reads, if a step says so.
  std::map<std::string, int64_t> prefetches;
  /// The intrinsic that replaces its innermost loops; empty if they are loops.
  std::string intrinsic;

  bool reduces() const;
  /// Its value's dimensions, as another stage would read them at the same point.
  std::vector<ReadDim> resultDims() const;
  int findLoop(const std::string &name) const;
  int findAxis(const std::string &name) const;
  bool isReduction(const Loop &loop) const;
  /// The first loop of the register tile, or of an intrinsic: everything from there on is unrolled
  /// or vectorized, or one call.
  size_t tileBegin() const;
  bool isVectorized() const;
  size_t parallelLoops() const;
  /// Whether the last iteration of a loop over the part may cover less than the others.
  bool isRagged(const LoopPart &part) const;
  /// The size of the last iteration of a loop if all others cover a whole tile; nothing if
  /// that is not known.
  std::optional<int64_t> knownRemainder(const Loop &loop) const;
  void resetLoops();
};

class LoopModel {
public:
  /// In order of dependence; every stage with its axes and reads.
  explicit LoopModel(std::vector<Stage> stages);

  /// Throws `Error` naming the step and the reason if it is not legal; then nothing has changed.
  void apply(const RecipeStep &step);
  void apply(const Recipe &recipe) {
    for (const RecipeStep &step : recipe.steps)
      apply(step);
  }

  const std::vector<Stage> &getStages() const { return stages; }
  const Stage *find(const std::string &name) const;
  /// All that was applied.
  const Recipe &recipe() const { return applied; }

  /// These loops, with one more if a parallel loop's last iteration covers part of a register tile:
  /// a loop of one iteration inside it, whose remainder can be split off.
  LoopModel withWholeCells() const;

  /// "tiles" if a reduction carries a register tile, "rows" if it runs along vectors,
  /// "calls" of an intrinsic, "vectors", or "loops".
  std::string kind() const;
  /// The loops of a stage as one line: "i.g 16 || i.o 4, k 512 | i.t 6, j.t 16".
  static std::string summary(const Stage &stage);

  /// The stage at whose loops everything around `name` hangs: the root of its kernel.
  const Stage &kernelRoot(const std::string &name) const;
  /// The loop of `outer` inside which `name` is computed, over all stages between: its position,
  /// -1 outside its loops; nothing if it is not computed inside `outer`.
  std::optional<int> positionInside(const std::string &name, const std::string &outer) const;

private:
  struct Unsupported {
    std::string reason;
  };
  Stage &stage(const std::string &name);
  const Stage &stageAt(const std::string &name) const;
  int loopOf(const Stage &stage, const std::string &name) const;
  void requireShapeable(const Stage &stage, int from = -1) const;
  void requireNewName(const Stage &stage, const std::string &name) const;

  void run(const RecipeStep &step);
  void split(Stage &stage, const std::string &axis, int64_t factor, const std::string &outer,
             const std::string &inner);
  void tile(Stage &stage, const RecipeStep &step);
  void reorder(Stage &stage, const std::vector<std::string> &order);
  void fuse(Stage &stage, const RecipeStep &step);
  void annotate(Stage &stage, const std::string &axis, RecipeStep::Kind kind);
  void computeAt(Stage &stage, const RecipeStep &step);
  void cacheRead(const std::string &reader, const RecipeStep &step);
  void cacheWrite(const std::string &writer, const RecipeStep &step);
  void pack(Stage &stage, const RecipeStep &step);
  void prefetch(Stage &stage, const RecipeStep &step);
  void tensorize(Stage &stage, const RecipeStep &step);
  void checkNesting(const Stage &stage) const;
  void checkVector(const Stage &stage, int loop) const;
  using Region = std::vector<std::optional<int64_t>>;
  const Region &regionInside(const Stage &stage, const std::string &outer, int position,
                             std::map<const Stage *, Region> &known) const;

  std::vector<Stage> stages;
  Recipe applied;
};

} // namespace headrace
