#pragma once

#include "script/language/Program.h"

namespace headrace::script {

/// Follows a function's variables forwards: sets the type of every expression as far as all paths
/// agree on it, and of every block's inputs; rejects variables that no path to their use defines.
/// `known` are the variables that exist at the start.
void followTypes(Function &function, const std::map<std::string, Type> &known);

/// Follows them backwards from `kept`, the variables needed at the end: fills in which variables
/// each block reads, which it must leave behind, and which end in it.
void followUses(Function &function, const std::vector<std::string> &kept);

/// Every variable that the blocks assign, without the ones that analysis made.
std::vector<std::string> assignedVariables(const Function &function);

} // namespace headrace::script
