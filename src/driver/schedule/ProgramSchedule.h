// A recipe for a program of tensor expressions while it is written: every step is checked at once.
// No MLIR header.
#pragma once

#include "frontend/expr/Stage.h"
#include "transform/recipe/LoopModel.h"

namespace headrace {

class ProgramSchedule {
public:
  /// Begins without steps. Throws Error if the expressions do not make a program.
  explicit ProgramSchedule(const std::vector<expr::Stage> &outputs);

  /// Throws Error naming the step and the reason if it is not legal; then nothing has changed.
  void apply(const RecipeStep &step) { model.apply(step); }
  /// Steps as text: all of them, or none.
  void apply(const std::string &text);

  /// All steps so far, as text.
  std::string recipe() const { return model.recipe().text(); }
  std::vector<std::string> stages() const;
  /// The stage's loops, outermost first.
  std::vector<std::string> loops(const std::string &stage) const;
  /// The stage's loops on one line, with their sizes.
  std::string summary(const std::string &stage) const;

private:
  const Stage &find(const std::string &stage) const;

  LoopModel model;
};

} // namespace headrace
