// A rewrite rule: a term, its replacement, and the conditions on sizes under which they are equal.
//
//   rule split-columns for MVMul[?r, ?c]
//     mv(?w, ?x) => reduce[add, 2](mv(transpose[2, 3](split[1, ?c](?w)), split[1, ?c](?x)))
//     where ?k = size(?x, 1), ?k % ?c == 0, ?k > ?c
//
// A rule with `for` is one for each of an operator's sizes: an accelerator says which there are.
#pragma once

#include "rewrite/rule/Expression.h"
#include "rewrite/term/Terms.h"

#include <functional>

namespace headrace::rewrite {

/// A term with variables. The attributes of a left side are literals and variables alone.
struct Pattern {
  bool isVariable = false;
  uint32_t slot = 0; ///< of the subject
  Name name = 0;
  std::vector<Expression> attributes;
  std::vector<Pattern> operands;
  SourceLocation place;
};

/// A clause after `where`: a condition, or a value with a name.
struct Clause {
  std::optional<uint32_t> defines; ///< slot of the value
  Expression expression;
};

/// Languages say what operators mean, algorithms how to compute them, hardware what there is to do
/// so.
enum class Level { Language, Algorithm, Hardware };
std::string_view nameOf(Level level);

struct Rule {
  std::string name;
  Level level = Level::Algorithm;
  SourceLocation place;
  std::optional<Name> family; ///< the operator of whose sizes it speaks
  size_t parameterCount = 0;  ///< the first values: one per size
  Pattern left, right;
  std::vector<Clause> clauses;
  std::vector<std::string> subjects, values; ///< names of the variables, by slot
};

/// A rule with the sizes it is meant for.
struct RuleInstance {
  const Rule *rule = nullptr;
  std::vector<Attribute> parameters;

  /// "split-columns[64, 64]"
  std::string name(const Vocabulary &vocabulary) const;
};

/// Tries the clauses in order; defines values on the way. Whether all conditions hold.
bool clausesHold(const Rule &rule, Bindings &bindings, const Facts &facts);

/// The operators of the right-hand side in pre-order, variables left out; nothing if an attribute
/// has no value.
std::optional<std::vector<OperatorId>> rightOperators(const Rule &rule, const Bindings &bindings,
                                                      const Facts &facts, Vocabulary &vocabulary);

/// Makes the right-hand side: `add` is given an operator and operands, and gives a subject.
using AddNode = std::function<uint32_t(OperatorId, std::span<const uint32_t>)>;
uint32_t buildRight(const Rule &rule, const Bindings &bindings,
                    std::span<const OperatorId> operators, const AddNode &add);

} // namespace headrace::rewrite
