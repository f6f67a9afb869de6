#pragma once

#include "script/language/Builtins.h"

namespace headrace::script {

/// Which argument of a call belongs to which parameter: named ones first, the others fill what is
/// left in order. Null if none was given; of a variadic function, the arguments that belong to
/// no parameter follow. Throws an Error for arguments that are too many, unknown or given twice,
/// and for required ones that are missing.
std::vector<const Argument *> bindArguments(SourceLocation place, const Call &call,
                                            const Signature &signature);

} // namespace headrace::script
