// Finds the places where a rule's left-hand side fits an e-graph. The pattern is compiled once to a
// list of steps over registers that hold classes; searching runs it with backtracking.
#pragma once

#include "rewrite/egraph/EGraph.h"
#include "rewrite/rule/Rule.h"

namespace headrace::rewrite {

struct Match {
  ClassId root = 0;
  Bindings bindings;
  std::vector<NodeId> nodes; ///< those that the operators of `Matcher::patterns` fit
};

/// Results of a rule's last search: places about which nothing changed since need none.
struct Searched {
  uint32_t since = 0;           ///< the epoch of the graph
  std::vector<uint32_t> counts; ///< of matches, by root
  size_t known = 0;             ///< of the current search: matches that are not found again
};

class Matcher {
public:
  explicit Matcher(RuleInstance instance);

  const RuleInstance &instance() const { return rule; }
  /// The operators of the left side, in the order in which they are matched.
  const std::vector<const Pattern *> &patterns() const { return operators; }

  /// Matches whose conditions hold, in the order of classes and nodes, up to `limit`. The graph is
  /// rebuilt. `stop` is asked now and then, and ends the search. Those known from `before` are
  /// left out, and count for the limit.
  std::vector<Match> search(const EGraph &graph, const Facts &facts, size_t limit,
                            const std::function<bool()> &stop, Searched &before) const;

private:
  friend class Search;
  // A test or use of a node's attribute: compare with a literal or a known value, else keep it.
  struct AttributeStep {
    enum class Kind { Literal, Compare, Keep } kind;
    Attribute literal;
    uint32_t slot;
  };
  // Bind: goes through the nodes of this name in the class of register `in`, and puts their
  // operands into the registers from `out`. Same: the two registers hold one class.
  struct Step {
    enum class Kind { Bind, Same } kind;
    uint32_t in, out;
    Name name;
    uint32_t operandCount;
    std::vector<AttributeStep> attributes;
  };

  void compile();

  RuleInstance rule;
  std::vector<Step> steps;
  std::vector<const Pattern *> operators; // of the steps that bind
  std::vector<uint32_t> subjectRegisters; // by slot
  uint32_t registerCount = 1;             // the first is the root
  size_t depth = 0;                       // levels of operands below the root
};

} // namespace headrace::rewrite
