// Writes the steps of a chosen recipe.
#pragma once

#include "transform/recipe/KernelModel.h"

namespace headrace {

class StepWriter {
public:
  using Names = llvm::ArrayRef<std::string>;

  void split(mlir::Operation *op, const std::string &axis, int64_t size, const std::string &outer,
             const std::string &inner) {
    add(op, RecipeStep::Kind::Split, {axis}, {size}, {outer, inner});
  }
  void reorder(mlir::Operation *op, Names axes) {
    if (axes.size() > 1)
      add(op, RecipeStep::Kind::Reorder, axes);
  }
  void parallel(mlir::Operation *op, const std::string &axis) {
    add(op, RecipeStep::Kind::Parallel, {axis});
  }
  void computeAt(mlir::Operation *op, mlir::Operation *consumer, const std::string &axis) {
    RecipeStep &step = add(op, RecipeStep::Kind::ComputeAt, {});
    step.target = stageOf(consumer);
    if (!axis.empty())
      step.axes = {axis};
  }
  void pack(mlir::Operation *op, const std::string &source, const std::string &axis) {
    add(op, RecipeStep::Kind::Pack, {axis}).target = source;
  }
  void prefetch(mlir::Operation *op, const std::string &source, int64_t panels) {
    add(op, RecipeStep::Kind::Prefetch, {}, {panels}).target = source;
  }
  /// The last axis becomes vectors, those outside it are unrolled around them.
  void registerTile(mlir::Operation *op, Names axes) {
    if (axes.empty())
      return;
    if (axes.size() > 1)
      add(op, RecipeStep::Kind::Unroll, axes.drop_back());
    add(op, RecipeStep::Kind::Vectorize, {axes.back()});
  }
  /// Vectors of `width` along a loop that walks `size` elements of `axis`.
  void vectors(mlir::Operation *op, const std::string &loop, int64_t width, const std::string &axis,
               int64_t size) {
    if (width != size)
      split(op, loop, width, axis + ".o", axis + ".v");
    add(op, RecipeStep::Kind::Vectorize, {width != size ? axis + ".v" : loop});
  }

  Recipe take() { return std::move(recipe); }

private:
  RecipeStep &add(mlir::Operation *op, RecipeStep::Kind kind, Names axes,
                  llvm::ArrayRef<int64_t> sizes = {}, Names names = {}) {
    RecipeStep step;
    step.kind = kind;
    step.stage = stageOf(op);
    step.axes = axes.vec();
    step.sizes = sizes.vec();
    step.names = names.vec();
    return recipe.steps.emplace_back(std::move(step));
  }

  Recipe recipe;
};

} // namespace headrace
