#include "rewrite/derivation/Derivation.h"

namespace headrace::rewrite {

namespace {

class Explanation {
public:
  Explanation(const Proof &proof, std::span<const RuleInstance> rules)
      : proof(proof), rules(rules), isKnown(proof.size()) {}

  void explain(TermId from, TermId to, size_t before) {
    for (size_t number : proof.path(from, to, before)) {
      const Proof::Equality &equality = proof[number];
      bool backwards = equality.left != from;
      TermId next = backwards ? equality.left : equality.right;
      if (!isKnown[number]) {
        isKnown[number] = true;
        if (equality.rule == Proof::Equality::congruence)
          explainOperands(from, next, number);
        else
          steps.push_back({rules[equality.rule], backwards, from, next});
      }
      from = next;
    }
  }

  std::vector<DerivationStep> steps;

private:
  void explainOperands(TermId from, TermId to, size_t before) {
    const Terms &terms = proof.terms();
    for (size_t i = 0; i < terms[from].operands.size(); ++i)
      explain(terms[from].operands[i], terms[to].operands[i], before);
  }

  const Proof &proof;
  std::span<const RuleInstance> rules;
  std::vector<bool> isKnown; // by number of the equality
};

} // namespace

std::vector<DerivationStep> derive(const Proof &proof, TermId from, TermId to,
                                   std::span<const RuleInstance> rules) {
  Explanation explanation(proof, rules);
  explanation.explain(from, to, proof.size());
  return std::move(explanation.steps);
}

} // namespace headrace::rewrite
