// The way of a user's recipe (Settings::recipe) through the phases. A recipe for a processor shapes
// loops and stands on the entry function; one for a device says how kernels are launched, and
// stands on the kernels.
#pragma once

#include "driver/Settings.h"
#include "target/Target.h"

namespace headrace {

/// Whether the user's recipe decides which loops there are.
bool shapesLoops(const Target &target, const Settings &settings);

/// Before the first phase: tells the program of it.
void setRecipe(mlir::ModuleOp program, const Target &target, const Settings &settings);
/// Before kernels are formed: throws Error where a step of it is illegal.
void checkRecipe(mlir::ModuleOp program);
/// Before kernels are scheduled, on a device: tells them of it.
void attachRecipe(mlir::ModuleOp program, const Target &target, const Settings &settings);
/// After that: throws Error where a kernel refused what it says.
void requireRecipe(mlir::ModuleOp program, const Target &target, const Settings &settings);

} // namespace headrace
