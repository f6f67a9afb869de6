// Recipes: transform-dialect programs generated from schedules.
#pragma once

#include "transform/Schedule.h"

namespace headrace {

/// The recipe of a kernel under a schedule: a module with the named sequence `@recipe`, as text.
std::string recipeText(const Schedule &schedule, mlir::func::FuncOp kernel);

inline constexpr llvm::StringLiteral kRecipeName = "recipe";

} // namespace headrace
