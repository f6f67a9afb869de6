#pragma once

#include "script/language/Ast.h"

namespace headrace::script {

/// The tree of a whole script. Throws an Error with the place of the first mistake. Input is
/// bounded: expressions and statements nest at most a few hundred deep, so that whoever walks the
/// tree may recurse.
Script parse(std::shared_ptr<const Source> source);

} // namespace headrace::script
