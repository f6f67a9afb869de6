// Mappings as text, for processes to come.
#pragma once

#include "rewrite/accelerator/Mapping.h"

namespace headrace::rewrite {

/// The term as text; equal texts mean equal terms.
std::string toText(const Terms &terms, TermId term);

/// The input of compiling: the chosen term, its operations, and what is left over.
std::string toText(const Terms &terms, const Mapping &mapping);
/// All else is as in a new Mapping. Throws JsonFault.
Mapping mappingFromText(std::string_view text, Terms &terms);

} // namespace headrace::rewrite
