#include "rewrite/derivation/Replay.h"

#include "rewrite/strategy/MatchTerm.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace headrace::rewrite {

namespace {

/// Sums in another order differ by less.
constexpr double tolerance = 1e-9;

std::string partText(const Pattern &pattern, const Terms &terms, TermId term,
                     const TermShapes &shapes) {
  const Vocabulary &vocabulary = terms.vocabulary();
  if (pattern.isVariable) {
    bool isInput = vocabulary.text(terms.opOf(term).name) == "tensor";
    return isInput ? std::string(callOf(terms.opOf(term), vocabulary).names[0])
                   : textOf(shapes.shapeOf(term));
  }
  std::string text = vocabulary.print(terms[term].op);
  for (size_t i = 0; i < pattern.operands.size(); ++i)
    text += (i == 0 ? "(" : ", ") +
            partText(pattern.operands[i], terms, terms[term].operands[i], shapes);
  return pattern.operands.empty() ? text : text + ")";
}

double difference(const Array &a, const Array &b) {
  if (a.shape != b.shape)
    return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    double x = a.values[i], y = b.values[i];
    if (std::isnan(x) != std::isnan(y))
      return INFINITY;
    if (!std::isnan(x) && x != y)
      largest = std::max(largest, std::abs(x - y) / std::max({1.0, std::abs(x), std::abs(y)}));
  }
  return largest;
}

} // namespace

std::string textOf(const DerivationStep &step, const Terms &terms, const TermShapes &shapes) {
  const Rule &rule = *step.rule.rule;
  return partText(step.backwards ? rule.right : rule.left, terms, step.before, shapes) + " => " +
         partText(step.backwards ? rule.left : rule.right, terms, step.after, shapes);
}

Inputs randomInputs(const Terms &terms, TermId root, uint64_t seed) {
  std::mt19937_64 random(seed);
  Inputs inputs;
  for (TermId id : terms.reachableFrom(root)) {
    const Vocabulary &vocabulary = terms.vocabulary();
    if (vocabulary.text(terms.opOf(id).name) != "tensor")
      continue;
    OperatorCall call = callOf(terms.opOf(id), vocabulary);
    Array array(call.numbers);
    for (double &value : array.values)
      value = static_cast<double>(static_cast<int64_t>(random() % 2001) - 1000) / 1000;
    inputs.emplace(call.names[0], std::move(array));
  }
  return inputs;
}

double replay(Terms &terms, TermId from, TermId to, std::span<const DerivationStep> steps,
              const Facts &facts, const OperatorSet &operators, const Inputs &inputs) {
  EGraph known(terms.vocabulary()); // terms that are equal by the steps so far
  ClassId start = known.add(terms, from);
  double largest = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const DerivationStep &step = steps[i];
    auto fail = [&](const std::string &reason) {
      throw Error(ErrorKind::InvalidArgument, "step " + std::to_string(i + 1) + ", rule '" +
                                                  step.rule.name(terms.vocabulary()) +
                                                  "': " + reason);
    };
    TermId left = step.backwards ? step.after : step.before;
    TermId right = step.backwards ? step.before : step.after;
    if (applyToTerm(step.rule, terms, left, facts) != right)
      fail("it does not make this term of that one");
    double error = difference(evaluate(terms, left, operators, inputs),
                              evaluate(terms, right, operators, inputs));
    if (!(error <= tolerance))
      fail("values differ by " + std::to_string(error));
    largest = std::max(largest, error);

    size_t nodes = known.nodeCount();
    ClassId before = known.add(terms, step.before);
    if (known.nodeCount() != nodes)
      fail("the part that it replaces did not come up before");
    known.merge(before, known.add(terms, step.after));
    known.rebuild();
  }
  if (known.find(known.add(terms, to)) != known.find(start))
    throw Error(ErrorKind::InvalidArgument, "the derivation does not end at the term it is for");
  return largest;
}

} // namespace headrace::rewrite
