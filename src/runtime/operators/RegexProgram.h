// A regular expression in RE2's syntax as a nondeterministic automaton over characters. Captures
// and whether a repetition is greedy make no difference, because matches are the longest ones.
#pragma once

#include "runtime/operators/CharacterSet.h"

namespace headrace::operators {

/// Where a match may be, between two characters.
enum class Anchor { TextBegin, TextEnd, LineBegin, LineEnd, WordBoundary, NoWordBoundary };

struct RegexNode {
  enum Kind { Set, Split, Condition, Jump, Match };
  Kind kind;
  int next = -1, other = -1; // `other` of a Split
  size_t set = 0;            // of a Set
  Anchor anchor = Anchor::TextBegin;
};

struct RegexProgram {
  std::vector<RegexNode> nodes;
  std::vector<CharacterSet> sets;
  int start = 0;
};

/// Throws Error, which says what is wrong with the pattern.
RegexProgram parseRegex(std::wstring_view pattern);

} // namespace headrace::operators
