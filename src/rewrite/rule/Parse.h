// Rules and terms from text.
//
//   level algorithm
//   rule NAME [for OPERATOR[?a, ?b]]
//     PATTERN => PATTERN          or <=>, which is two rules, NAME and NAME.reversed
//     [where CLAUSE, CLAUSE...]   ?n = EXPRESSION gives a value a name, the rest are conditions
//
// A pattern is `?x` or `name[attributes](operands)`; either list may be left out. Expressions have
// + - * / % == != < <= > >= and or not, and the functions of the language.
#pragma once

#include "rewrite/rule/Language.h"
#include "rewrite/rule/Rule.h"

namespace headrace::rewrite {

/// Rules in the order of the text; they stay where they are in memory.
using RuleSet = std::deque<Rule>;

/// Adds the rules of a text to those of others; a name may be there once. Without a language any
/// operator, function and name goes.
void parseRules(RuleSet &rules, const std::shared_ptr<const Source> &source, Vocabulary &vocabulary,
                const Language *language);

/// One term without variables.
TermId parseTerm(const std::shared_ptr<const Source> &source, Terms &terms,
                 const Language *language);

} // namespace headrace::rewrite
