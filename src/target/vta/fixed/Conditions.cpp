#include "target/vta/fixed/Conditions.h"

#include <cmath>

namespace headrace::vta {

Scalar condition(Piecewise<bool> truth, const IntegerStages &integers) {
  Scalar result;
  result.kind = Scalar::Kind::Condition;
  result.version = integers.version();
  result.truth = std::move(truth);
  return result;
}

Scalar compare(Relation relation, const Scalar &a, const Scalar &b, const IntegerStages &integers) {
  if (a.kind == Scalar::Kind::Numbers && b.kind == Scalar::Kind::Integers)
    return compare(swapped(relation), b, a, integers);
  if (a.isNumber() && b.isNumber())
    return condition(Piecewise<bool>(holds(relation, a.numbers[0], b.numbers[0])), integers);
  if (a.kind != Scalar::Kind::Integers || !b.isNumber())
    throw Unsupported("compares two values that it computes");
  integers.requireCurrent(a);
  double number = b.numbers[0];
  if (std::isnan(number))
    return condition(Piecewise<bool>(relation == Relation::NotEqual), integers);
  Piecewise<bool> ofInteger = integersWith(relation, inUnits(number, a));
  auto truth = a.outcomes.with(ofInteger, [&](const Outcome &value, bool isTrue) {
    return value ? holds(relation, *value, number) : isTrue;
  });
  return condition(std::move(truth), integers);
}

Scalar select(const Scalar &chosen, const Scalar &yes, const Scalar &no,
              const IntegerStages &integers) {
  if (chosen.kind != Scalar::Kind::Condition)
    throw Unsupported("selects by something else than a comparison");
  if (chosen.truth.all().size() == 1)
    return chosen.truth.at(0) ? yes : no;
  integers.requireCurrent(chosen);
  for (const Scalar *branch : {&yes, &no})
    if (branch->kind == Scalar::Kind::Integers)
      integers.requireCurrent(*branch);
    else if (!branch->isNumber())
      throw Unsupported("selects between values that it reads");
  auto outcomesOf = [](const Scalar &branch) {
    return branch.kind == Scalar::Kind::Integers ? branch.outcomes
                                                 : Piecewise<Outcome>(branch.numbers[0]);
  };
  if (yes.kind == no.kind && yes.exponents != no.exponents)
    throw Unsupported("selects between scales");
  Scalar result =
      integers.current(yes.kind == Scalar::Kind::Integers ? yes.exponents : no.exponents);
  using Pair = std::pair<Outcome, Outcome>;
  auto both = outcomesOf(yes).with(outcomesOf(no),
                                   [](const Outcome &a, const Outcome &b) { return Pair(a, b); });
  result.outcomes = chosen.truth.with(
      both, [](bool isTrue, const Pair &pair) { return isTrue ? pair.first : pair.second; });
  return result;
}

Scalar largerOf(const Scalar &a, const Scalar &b, const IntegerStages &integers) {
  return select(compare(Relation::GreaterEqual, a, b, integers), a, b, integers);
}

Scalar smallerOf(const Scalar &a, const Scalar &b, const IntegerStages &integers) {
  return select(compare(Relation::LessEqual, a, b, integers), a, b, integers);
}

Scalar logic(const Scalar &a, const Scalar &b, bool (*function)(bool, bool),
             const IntegerStages &integers) {
  if (a.kind != Scalar::Kind::Condition || b.kind != Scalar::Kind::Condition)
    throw Unsupported("computes with single bits");
  for (const Scalar *side : {&a, &b})
    if (side->truth.all().size() > 1)
      integers.requireCurrent(*side);
  return condition(a.truth.with(b.truth, function), integers);
}

} // namespace headrace::vta
