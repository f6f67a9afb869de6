#include "rewrite/tensor/CheckRules.h"

#include "rewrite/tensor/Interpreter.h"
#include "rewrite/tensor/RandomExample.h"

#include <cmath>

namespace headrace::rewrite {

namespace {

// Both sides are computed in double precision, but sums may be in another order.
constexpr double tolerance = 1e-9;

// Not a library's distribution: those differ between libraries.
double randomValue(std::mt19937_64 &random) {
  return static_cast<double>(random() >> 11) * 0x1p-52 * 2 - 2;
}

std::string numberText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string indexText(const Shape &shape, size_t offset) {
  Shape index(shape.size());
  auto rest = static_cast<int64_t>(offset);
  for (size_t i = shape.size(); i-- > 0;) {
    index[i] = rest % shape[i];
    rest /= shape[i];
  }
  return textOf(index);
}

class RuleChecker {
public:
  RuleChecker(const Rule &rule, const OperatorSet &operators, Vocabulary &vocabulary,
              const CheckOptions &options)
      : rule(rule), operators(operators), vocabulary(vocabulary), options(options) {
    uint64_t seed = options.seed;
    for (char c : rule.name)
      seed = mixed(seed, static_cast<unsigned char>(c));
    random.seed(seed);
  }

  /// Empty if the rule holds.
  std::string run() {
    for (size_t attempt = 0; attempt < options.attempts && trials < options.trials; ++attempt) {
      RandomExample example(rule, operators, vocabulary, random);
      if (!example.fits())
        continue;
      std::string difference = compare(example);
      if (!difference.empty())
        return difference + "\n  where " + describe(example);
      // Examples without elements say nothing of values.
      trials += elementCount(example.shapes.shapeOf(example.left)) > 0;
    }
    if (trials == 0)
      return "no example found in " + std::to_string(options.attempts) +
             " attempts: are its conditions ever true?";
    return {};
  }

  size_t trials = 0;

private:
  std::string compare(RandomExample &example) {
    auto ops = rightOperators(rule, example.bindings, example.shapes, vocabulary);
    if (!ops)
      return {}; // the rule does not apply
    TermId right = buildRight(rule, example.bindings, *ops,
                              [&](OperatorId op, std::span<const uint32_t> operands) {
                                return example.terms.add(op, {operands.begin(), operands.end()});
                              });
    ShapeResult shape = example.shapes.tryShapeOf(right);
    if (!shape.shape)
      return "the right-hand side has no shape: " + shape.reason;
    const Shape &expected = example.shapes.shapeOf(example.left);
    if (*shape.shape != expected)
      return "the left-hand side has shape " + textOf(expected) + ", the right-hand side " +
             textOf(*shape.shape);
    Inputs inputs;
    for (size_t slot = 0; slot < rule.subjects.size(); ++slot) {
      Array array(example.shapes.shapeOf(example.bindings.subjects[slot]));
      for (double &value : array.values)
        value = randomValue(random);
      inputs.emplace(rule.subjects[slot], std::move(array));
    }
    return compareValues(evaluate(example.terms, example.left, operators, inputs),
                         evaluate(example.terms, right, operators, inputs));
  }

  static std::string compareValues(const Array &left, const Array &right) {
    for (size_t i = 0; i < left.values.size(); ++i) {
      double a = left.values[i], b = right.values[i];
      bool same = a == b || (std::isnan(a) && std::isnan(b)) ||
                  std::abs(a - b) <= tolerance * (1 + std::abs(a) + std::abs(b));
      if (!same)
        return "at " + indexText(left.shape, i) + " the left-hand side is " + numberText(a) +
               ", the right-hand side " + numberText(b);
    }
    return {};
  }

  std::string describe(const RandomExample &example) const {
    std::string text;
    for (size_t slot = 0; slot < rule.values.size(); ++slot)
      text += (text.empty() ? "?" : ", ?") + rule.values[slot] + " = " +
              vocabulary.print(example.bindings.values[slot]);
    for (size_t slot = 0; slot < rule.subjects.size(); ++slot)
      text += (text.empty() ? "?" : ", ?") + rule.subjects[slot] + " has shape " +
              textOf(example.shapes.shapeOf(example.bindings.subjects[slot]));
    return text;
  }

  const Rule &rule;
  const OperatorSet &operators;
  Vocabulary &vocabulary;
  const CheckOptions &options;
  std::mt19937_64 random;
};

} // namespace

RuleCheck checkRules(const RuleSet &rules, const OperatorSet &operators, Vocabulary &vocabulary,
                     const CheckOptions &options) {
  RuleCheck result;
  for (const Rule &rule : rules) {
    RuleChecker checker(rule, operators, vocabulary, options);
    std::string fault = checker.run();
    if (!fault.empty())
      result.faults.push_back({&rule, std::move(fault)});
    ++result.rules;
    result.trials += checker.trials;
  }
  return result;
}

} // namespace headrace::rewrite
