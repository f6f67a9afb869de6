// Writes one stage as an operator of level 1, with the slices and padding it reads through. A
// contraction, a reduction, a map or a transpose becomes that operator, which has schedules and
// rewritings of its own; any other stage is `hr.compute`.
#pragma once

#include "dialect/Hr.h"
#include "frontend/common/OperatorBuilder.h"
#include "frontend/expr/Accesses.h"
#include "frontend/expr/Hoist.h"

namespace headrace::expr {

/// Tensors written so far.
using StageValues = std::map<const StageInfo *, mlir::Value>;

hr::ReduceKind kindOf(const Reduction &reduction);
/// A number of an expression as a constant of the type.
mlir::TypedAttr numberAttr(const Expr &number, mlir::Type type);

/// The stage's result. Its operators carry `hr.stage` and `hr.axes`, by which recipes name them.
mlir::Value writeStage(const FlatStage &stage, OperatorBuilder &operators, Symbols &symbols,
                       SizeTable &sizes, const StageValues &values);

} // namespace headrace::expr
