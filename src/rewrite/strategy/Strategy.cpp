#include "rewrite/strategy/Strategy.h"

#include "rewrite/strategy/MatchTerm.h"
#include "runtime/system/Error.h"

namespace headrace::rewrite {

namespace {

// Backtracking: steps of a strategy that fails later are undone.
std::optional<TermId> undoneIfFailed(const Strategy &strategy, RewriteContext &context,
                                     TermId term) {
  size_t before = context.steps.size();
  std::optional<TermId> result = strategy(context, term);
  if (!result)
    context.steps.resize(before);
  return result;
}

// The term with the first of its operands that takes the strategy replaced.
std::optional<TermId> atOneOperand(const Strategy &strategy, RewriteContext &context, TermId term) {
  Term changed = context.terms[term];
  for (TermId &operand : changed.operands)
    if (std::optional<TermId> result = strategy(context, operand)) {
      operand = *result;
      return context.terms.add(changed.op, std::move(changed.operands));
    }
  return {};
}

} // namespace

Strategy apply(RuleInstance instance) {
  return [instance](RewriteContext &context, TermId term) -> std::optional<TermId> {
    std::optional<TermId> result = applyToTerm(instance, context.terms, term, context.facts);
    if (!result)
      return {};
    if (context.applicationsLeft-- == 0)
      throw Error(ErrorKind::InvalidArgument, "the strategy does not end: rule '" +
                                                  instance.rule->name +
                                                  "' was the last of too many applications");
    context.steps.push_back({instance.rule, term, *result});
    return result;
  };
}

Strategy id() {
  return [](RewriteContext &, TermId term) { return std::optional(term); };
}

Strategy fail() {
  return [](RewriteContext &, TermId) { return std::optional<TermId>(); };
}

Strategy seq(Strategy first, Strategy second) {
  return [=](RewriteContext &context, TermId term) -> std::optional<TermId> {
    std::optional<TermId> result = first(context, term);
    return result ? second(context, *result) : std::nullopt;
  };
}

Strategy choice(Strategy first, Strategy second) {
  return [=](RewriteContext &context, TermId term) -> std::optional<TermId> {
    std::optional<TermId> result = undoneIfFailed(first, context, term);
    return result ? result : second(context, term);
  };
}

Strategy attempt(Strategy strategy) { return choice(std::move(strategy), id()); }

Strategy repeat(Strategy strategy) {
  return [=](RewriteContext &context, TermId term) -> std::optional<TermId> {
    while (std::optional<TermId> result = undoneIfFailed(strategy, context, term)) {
      if (*result == term)
        break; // as of id: it would go on forever
      term = *result;
    }
    return term;
  };
}

Strategy topDown(Strategy strategy) {
  return [=](RewriteContext &context, TermId term) -> std::optional<TermId> {
    if (std::optional<TermId> result = undoneIfFailed(strategy, context, term))
      return result;
    return atOneOperand(topDown(strategy), context, term);
  };
}

Strategy bottomUp(Strategy strategy) {
  return [=](RewriteContext &context, TermId term) -> std::optional<TermId> {
    if (std::optional<TermId> result = atOneOperand(bottomUp(strategy), context, term))
      return result;
    return undoneIfFailed(strategy, context, term);
  };
}

Strategy normalize(Strategy strategy) { return repeat(topDown(std::move(strategy))); }

} // namespace headrace::rewrite
