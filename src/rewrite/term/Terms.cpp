#include "rewrite/term/Terms.h"

#include <algorithm>
#include <unordered_set>

namespace headrace::rewrite {

TermId Terms::add(OperatorId op, std::vector<TermId> operands) {
  uint64_t hash = hashOf(op, operands);
  auto [from, to] = ids.equal_range(hash);
  for (auto at = from; at != to; ++at)
    if (const Term &term = all[at->second]; term.op == op && term.operands == operands)
      return at->second;
  auto id = static_cast<TermId>(all.size());
  all.push_back({op, std::move(operands)});
  ids.emplace(hash, id);
  return id;
}

std::vector<TermId> Terms::reachableFrom(TermId root) const {
  std::vector<TermId> found, open = {root};
  std::unordered_set<TermId> seen = {root};
  while (!open.empty()) {
    TermId id = open.back();
    open.pop_back();
    found.push_back(id);
    for (TermId operand : all[id].operands)
      if (seen.insert(operand).second)
        open.push_back(operand);
  }
  std::ranges::sort(found);
  return found;
}

std::string print(const Terms &terms, TermId root) {
  const Term &term = terms[root];
  std::string result = terms.vocabulary().print(term.op);
  for (size_t i = 0; i < term.operands.size(); ++i)
    result += (i == 0 ? "(" : ", ") + print(terms, term.operands[i]);
  return term.operands.empty() ? result : result + ")";
}

std::string printLines(const Terms &terms, TermId root) {
  std::unordered_map<TermId, std::string> names;
  std::string result;
  for (TermId id : terms.reachableFrom(root)) {
    const Term &term = terms[id];
    std::string text = terms.vocabulary().print(term.op);
    for (size_t i = 0; i < term.operands.size(); ++i)
      text += (i == 0 ? "(" : ", ") + names[term.operands[i]];
    if (term.operands.empty()) {
      names[id] = text;
      if (id == root)
        result += text + "\n";
      continue;
    }
    std::string &name = names[id] =
        "%" + std::to_string(result.empty() ? 0 : std::ranges::count(result, '\n'));
    result += name + " = " + text + ")\n";
  }
  return result;
}

} // namespace headrace::rewrite
