// Guided optimization of one program: transformations listed with what they would change, done,
// checked, undone and done again. No MLIR header.
#pragma once

#include "driver/Model.h"

#include "optimize/Transformation.h"
#include <functional>

namespace headrace::optimize {

/// Values of a program's dynamic dimensions, in the order of Model::symbols.
using Sizes = std::vector<std::optional<int64_t>>;

/// A state of the program: the recipe after a step, and what it costs.
struct State {
  std::string step; // empty: the start
  std::string recipe;
  Figures figures;
};

class CompiledRecipes;

class Optimizer {
public:
  /// Begins with the program as the recipe of the settings and the compiler make it. Throws Error
  /// for a model that is split into several programs or out of a package.
  Optimizer(std::shared_ptr<Model> model, const Settings &settings, const Sizes &sizes = {});
  /// Begins with the program and its gradient as two programs. Steps on one of them begin with its
  /// name, as in "forward: separate relu1"; steps on what is saved, and on layouts before the
  /// program is split, do not.
  Optimizer(std::shared_ptr<Model> model, const Settings &settings, const Sizes &sizes,
            const GradientOptions &gradient);
  ~Optimizer();

  Optimizer(Optimizer &&) noexcept;

  /// Begins anew, with each operator in a kernel of its own and loops as they are written.
  void beginUnfused();

  const std::string &recipe() const;
  const Figures &figures() const;
  /// Transformation::state of the program as it is.
  uint64_t state() const;

  /// Called with how many of all matches were predicted; may be empty.
  using Progress = std::function<void(size_t done, size_t all)>;
  /// Every match: the legal ones by the time that they save, the most first, then the others.
  /// Matches that would change nothing are left out. With a verb (Transformation::verb), steps of
  /// that kind only. They have no recipes, which `predict` gives.
  std::vector<Transformation> list(const Progress &progress = {}, const std::string &verb = "");
  /// What a step would do; the program stays as it is. Throws Error if the text is not a step.
  Transformation predict(const std::string &step);

  /// What the operators that steps name are, in lines that steps can be saved with; none for a
  /// program with its gradient.
  std::vector<std::string> structureOf(const std::vector<std::string> &steps) const;
  /// The steps for this program: as they are if it has operators of their names, else once for each
  /// place where it has operators of that structure.
  std::vector<std::vector<std::string>>
  stepsByStructure(const std::vector<std::string> &steps,
                   const std::vector<std::string> &structure) const;

  /// Does a step, once the program that it makes was compiled and computed what it should on random
  /// inputs (StepCheck.h). Throws Error with the reason if the step is not possible, or would
  /// change a result; the program is as before then.
  Transformation apply(const std::string &step);
  /// Like `apply`, without a check.
  Transformation applyUnchecked(const std::string &step);
  /// Back to the state before the last step, or forward again; false if there is none.
  bool undo();
  bool redo();

  /// From the start to the last step done, those that were undone included.
  const std::vector<State> &states() const;
  /// The place of the program in it.
  size_t position() const;

  /// The predicted time of the program with another complete recipe.
  double predictedMicroseconds(const std::string &recipe) const;
  /// The model compiled with these complete recipes, ready to be timed (Measure.h).
  std::unique_ptr<CompiledRecipes> compiled(const std::vector<std::string> &recipes) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// The lines that two complete recipes do not share: "- " before those of the first, "+ " before
/// those of the second. Throws Error if one is not a recipe.
std::string differenceBetween(const std::string &recipe, const std::string &other);

} // namespace headrace::optimize
