// The stages of a program of level 1, as recipes name them.
#pragma once

#include "transform/recipe/LoopModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace headrace {

/// The name by which stages know a value they read: a stage's, or an input's.
std::string programSourceName(mlir::Value value);

/// Writes `hr.stage` on every operator that is a stage: the name its front end gave it, or the
/// user's name of it, numbered if several have the same.
void nameStages(mlir::func::FuncOp program);

/// The loops of a program whose stages have names.
LoopModel modelOfProgram(mlir::func::FuncOp program);

/// The program's recipe, applied; nothing if it has none. Throws `Error` if a step is not
/// legal.
std::optional<LoopModel> scheduledProgram(mlir::func::FuncOp program);

} // namespace headrace
