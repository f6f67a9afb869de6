#pragma once

#include "script/language/Ast.h"

namespace headrace::script {

/// Variables that the statements from `first` on read before they write them, in order of use.
std::vector<std::string> freeVariables(const StatementList &statements, size_t first, size_t most);

} // namespace headrace::script
