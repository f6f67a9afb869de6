#pragma once

#include "script/language/Builtins.h"
#include <span>

namespace headrace::script {

/// One line of the table: the names of a function, the canonical one first; its parameters, `?`
/// after those that may be left out, `...` if more may follow, and `@` first if arguments are
/// distinguished by their position alone; its result. A line without names is not callable.
struct BuiltinRow {
  const char *names;
  const char *parameters;
  ResultRule rule;
  size_t results = 1;
};

std::span<const BuiltinRow> builtinRows();

} // namespace headrace::script
