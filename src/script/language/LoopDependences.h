#pragma once

#include "script/language/Ast.h"
#include <set>

namespace headrace::script {

/// Throws Error if an iteration of a `parfor` loop may read or write what another one writes, with
/// the variable and the two accesses. `defined` are the variables that exist before the loop: only
/// they outlive an iteration. Allowed are
///
///   R[i, ] = ...; R[2 * i, ] = R[2 * i - 1, ]    cells that no other iteration has
///   s += ...                                     sums, if nothing else accesses the variable
///
/// A loop with `check = 0` is taken as it is, inside another one, too.
void checkLoopDependences(const For &loop, const std::set<std::string> &defined);

/// Adds every variable that the statements assign.
void collectAssigned(const StatementList &statements, std::set<std::string> &names);

} // namespace headrace::script
