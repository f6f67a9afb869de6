// The way of a user's recipe (Settings::recipe) through the phases.
//
// Choices of the program and kernels with their schedules are attributes of the entry function,
// where the passes that choose find them (transform/choices). Lines on stages alone speak of what
// the program has by that name: stages of tensor expressions, which they give loops of their own,
// or stages of the kernels that were formed.
#pragma once

#include "driver/Settings.h"
#include "target/Target.h"

namespace headrace {

/// Whether the user's recipe gives the stages that its author wrote loops of their own: nothing
/// else is done to them then.
bool shapesLoops(mlir::ModuleOp program);

/// Before the first phase: attaches the recipe to the program.
void setRecipe(mlir::ModuleOp program, const Target &target, const Settings &settings);
/// Attaches a recipe to a program that will be split into a forward and a backward one.
void giveSplitRecipe(mlir::ModuleOp program, const std::string &recipe);
/// Before kernels are formed: throws Error if a step on the author's stages is illegal.
void checkRecipe(mlir::ModuleOp program);
/// Before kernels are scheduled: tells them what is said of their stages.
void attachRecipe(mlir::ModuleOp program, const Target &target, const Settings &settings);
/// After that: throws Error if a kernel rejected what it says.
void requireRecipe(mlir::ModuleOp program, const Target &target, const Settings &settings);
/// After every phase: throws Error if a pass rejected a step.
void requireChoices(mlir::ModuleOp program);

/// The recipe of a program that is scheduled: every choice, every kernel. `rates` are the machine
/// parameters under which they were chosen, by their hash.
std::string writtenRecipe(mlir::ModuleOp program, const std::string &rates);

} // namespace headrace
