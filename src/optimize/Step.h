// A step of guided optimization, and what it makes of a complete recipe.
//
//   separate relu1                     fuse conv1/map into conv1/conv        layout conv1 channels-first
//   kernel conv1:
//     conv: tiles rows=6 columns=32 ...
//
// A step edits the recipe of the program as it is: lines that decide the same question give way, and
// so do lines that are about a kernel which the step dissolves. Nothing else changes.
#pragma once

#include "transform/choices/ProgramRecipe.h"

#include <optional>
#include <string>
#include <vector>

namespace headrace::optimize {

/// One choice of a recipe, or the schedule of one kernel.
struct Step {
  std::optional<ProgramStep> choice;
  std::optional<ProgramRecipe::Kernel> kernel;

  /// Throws Error unless the text is one choice of a recipe, or one kernel with its schedule.
  static Step parse(std::string_view text);
  /// As recipes have it.
  std::string text() const;
  /// In one line, which `parse` reads, too: "kernel conv1: conv: tiles rows=6; pad: parallel d0".
  std::string line() const;
  /// The verb of a choice, "schedule" for the schedule of a kernel.
  std::string verb() const;
  const std::string &subject() const;
};

/// A complete recipe: what a compiler followed, every choice and every kernel.
class CompleteRecipe {
public:
  CompleteRecipe() = default;
  explicit CompleteRecipe(std::string_view text) : recipe(ProgramRecipe::parse(text)) {}

  std::string text() const { return recipe.text(); }
  const ProgramRecipe &parts() const { return recipe; }

  /// The operator after which the kernel of this operator is named.
  const std::string &kernelOf(const std::string &op) const;
  /// The operators of a kernel but the one that names it: the last one first.
  std::vector<std::string> othersIn(const std::string &kernel) const;
  const ProgramRecipe::Kernel *find(const std::string &kernel) const;
  bool has(const ProgramStep &step) const;
  /// The object of the step with this verb on the operator; nothing if there is none.
  std::optional<std::string> objectOf(std::string_view verb, const std::string &op) const;

  /// The recipe with the step, as far as the recipe alone tells what changes.
  CompleteRecipe with(const Step &step) const;
  /// With every operator in a kernel of its own.
  CompleteRecipe unfused() const;
  /// Without the schedules of these kernels, which the compiler then chooses.
  CompleteRecipe withoutSchedules(const std::vector<std::string> &kernels) const;

private:
  void removeOthers(const ProgramStep &step);
  void separate(const std::string &op);
  void fuse(const std::string &op, const std::string &into);
  void clearSchedule(const std::string &kernel);
  void addKernel(const std::string &kernel);
  void removeKernel(const std::string &kernel);

  ProgramRecipe recipe;
};

/// The lines on operators and kernels that two recipes do not share. A kernel and its schedule are
/// one line.
struct RecipeDifference {
  std::vector<std::string> removed, added;

  bool isEmpty() const { return removed.empty() && added.empty(); }
};
RecipeDifference differenceOf(const CompleteRecipe &before, const CompleteRecipe &after);
/// The difference as text: "- " before lines that are removed, "+ " before those that are added.
std::string text(const RecipeDifference &difference);

/// Steps that lead from one recipe to another of the same program, in an order in which kernels come
/// before their schedules. Lines on what neither recipe states are not among them.
std::vector<Step> stepsBetween(const CompleteRecipe &from, const CompleteRecipe &to);

/// The recipe with lines by which nothing that it leaves open is planned, and what cannot be followed
/// is passed over.
std::string frozen(const CompleteRecipe &recipe);
/// Likewise for choices before a program with gradients is split, where no kernels are planned.
std::string frozenBeforeSplit(const CompleteRecipe &recipe);

} // namespace headrace::optimize
