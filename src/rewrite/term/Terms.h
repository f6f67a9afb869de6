// Terms as a graph in which equal ones are one node (hash-consing). Rules rewrite them, an e-graph
// starts from them, and the best are extracted from it. They are free of binders: an operator says
// by its attributes which axes it works on, and works for each element of the others.
#pragma once

#include "rewrite/term/Vocabulary.h"

namespace headrace::rewrite {

using TermId = uint32_t;

struct Term {
  OperatorId op = 0;
  std::vector<TermId> operands;
};

/// Operands come before their users: the numbers are a topological order.
class Terms {
public:
  explicit Terms(Vocabulary &vocabulary) : words(&vocabulary) {}

  TermId add(OperatorId op, std::vector<TermId> operands = {});
  const Term &operator[](TermId id) const { return all[id]; }
  const Operator &opOf(TermId id) const { return (*words)[all[id].op]; }
  size_t size() const { return all.size(); }
  Vocabulary &vocabulary() const { return *words; }

  /// The term and its subterms in topological order: operands first, each once, itself last.
  std::vector<TermId> reachableFrom(TermId root) const;

private:
  Vocabulary *words;
  std::deque<Term> all;
  std::unordered_multimap<uint64_t, TermId> ids;
};

/// "mv(w, x)". A shared term is written out wherever it stands, so this is for small ones.
std::string print(const Terms &terms, TermId root);

/// One line for every operator with operands, "%3 = mv(%2, x)"; shared terms stand there once.
std::string printLines(const Terms &terms, TermId root);

} // namespace headrace::rewrite
