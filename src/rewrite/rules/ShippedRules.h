// The rules that come with the library.
#pragma once

#include "rewrite/rule/Parse.h"

namespace headrace::rewrite {

std::string languageRulesText();
std::string algorithmRulesText();
std::string hardwareRulesText();

/// All of them, in the operators of tensors and machines.
RuleSet shippedRules(Vocabulary &vocabulary);

} // namespace headrace::rewrite
