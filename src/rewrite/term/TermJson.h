// Terms in files.
#pragma once

#include "rewrite/term/Terms.h"
#include "runtime/system/Json.h"

namespace headrace::rewrite {

/// Operators in order, operands by their numbers: a shared term is there once.
Json termToJson(const Terms &terms, TermId root);
/// Throws JsonFault.
TermId termFromJson(const Json &nodes, Terms &terms);

} // namespace headrace::rewrite
