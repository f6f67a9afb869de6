// A model's program with a compiler for it, once the sizes are known.
#pragma once

#include "driver/Compiler.h"
#include "driver/LevelOneProgram.h"
#include "driver/Specialize.h"
#include "transform/choices/ProgramRecipe.h"

namespace headrace {

/// Gives the program of these sizes to `use`, with a compiler that follows the recipe. That speaks
/// of sizes of 2 or more: loops over one element or none are others. A program for those follows it
/// as far as it can, once it is right for the others.
template <class Use>
auto withCompiler(LevelOneProgram &source, const Settings &settings, const Sizes &sizes, Use use) {
  Sizes larger = sizes;
  for (std::optional<int64_t> &size : larger)
    if (size && *size < 2)
      size.reset();
  auto compile = [&](const Settings &given) {
    mlir::OwningOpRef<mlir::ModuleOp> program = specializeProgram(*source.module, sizes);
    Compiler compiler(source.context, given, source.name);
    return use(compiler, *program);
  };
  if (settings.recipe.empty() || larger == sizes)
    return compile(settings);
  try {
    return compile(settings);
  } catch (const Error &) {
    mlir::OwningOpRef<mlir::ModuleOp> program = specializeProgram(*source.module, larger);
    Compiler(source.context, settings, source.name).runPhases(*program, "schedule");
  }
  Settings lenient = settings;
  lenient.recipe = followedWherePossible(settings.recipe);
  return compile(lenient);
}

} // namespace headrace
