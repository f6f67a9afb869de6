// Comparisons, whatever operation of the program they come from: of numbers, and of an integer that
// is not known with a number.
#pragma once

#include "target/vta/fixed/Piecewise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <optional>

namespace headrace::vta {

enum class Relation { Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual };

/// Nothing if the predicate asks for NaN, or compares integers without signs.
std::optional<Relation> relationOf(mlir::arith::CmpFPredicate predicate);
std::optional<Relation> relationOf(mlir::arith::CmpIPredicate predicate);

/// The relation of b with a if this is that of a with b.
Relation swapped(Relation relation);
bool holds(Relation relation, double a, double b);
/// For which integers it holds of the integer with the number.
Piecewise<bool> integersWith(Relation relation, double number);

} // namespace headrace::vta
