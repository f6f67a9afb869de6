#include "target/vta/fixed/BodyChain.h"

#include "target/vta/fixed/Scalar.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;

namespace headrace::vta {

namespace {

/// number = factor * 2^exponent, with an odd factor (0 for 0).
struct Scaled {
  double factor;
  int exponent;
};

Scaled scaledOf(double number) {
  if (number == 0 || !std::isfinite(number))
    return {number, 0};
  int exponent = 0;
  double factor = std::frexp(number, &exponent);
  while (factor != std::floor(factor)) {
    factor *= 2;
    --exponent;
  }
  return {factor, exponent};
}

std::string textOf(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

/// Floats whose exponents leave room for every integer of 32 bits are never rounded by scaling.
constexpr int mostExponent = 90;

[[noreturn]] void refuseScale(double number) {
  throw Refusal("scale " + textOf(number) + " is no power of two: requantization is no shift");
}

double rounded(double value, Type type) {
  return type.isF32() ? static_cast<double>(static_cast<float>(value)) : value;
}

class BodyReader {
public:
  BodyReader(hr::MapOp map, ArrayRef<MapOperand> operands, size_t main)
      : map(map), operands(operands), chain(std::get<Chain>(operands[main])) {
    for (auto [i, operand] : llvm::enumerate(operands)) {
      Value argument = map.getBody().getArgument(static_cast<unsigned>(i));
      Scalar scalar;
      if (const auto *numbers = std::get_if<Numbers>(&operand)) {
        scalar.numbers = *numbers;
      } else if (i == main || isSame(i, main)) {
        scalar = current(chain.exponents);
      } else {
        const Chain &other = std::get<Chain>(operand);
        scalar.kind = Scalar::Kind::Other;
        scalar.operand = i;
        std::optional<int64_t> offset = other.offsetOfCells();
        if (!offset)
          throw Refusal("reads two computed values at once");
        scalar.offset = *offset;
        scalar.exponents = other.exponents;
        chain.operators.insert(other.operators.begin(), other.operators.end());
      }
      values[argument] = std::move(scalar);
    }
  }

  Chain read() {
    for (Operation &op : map.getBody().front().without_terminator())
      values[op.getResult(0)] = evaluate(&op);
    auto yield = cast<hr::YieldOp>(map.getBody().front().getTerminator());
    Scalar result = of(yield.getValues()[0]);
    Type type = yield.getValues()[0].getType();
    if (result.kind != Scalar::Kind::Integers)
      throw Refusal("does not depend on what it reads");
    if (type.isSignlessInteger())
      result = normalized(result, type, /*isSigned=*/true);
    resolve(result);
    chain.exponents = result.exponents;
    return std::move(chain);
  }

private:
  bool isSame(size_t a, size_t b) {
    return map.getInputs()[static_cast<unsigned>(a)] == map.getInputs()[static_cast<unsigned>(b)];
  }
  const Scalar &of(Value value) const { return values.find(value)->second; }

  Scalar current(std::vector<int> exponents) const {
    Scalar scalar;
    scalar.kind = Scalar::Kind::Integers;
    scalar.version = version;
    scalar.exponents = std::move(exponents);
    scalar.outcomes = Piecewise<Outcome>(Outcome());
    return scalar;
  }

  void requireCurrent(const Scalar &scalar) const {
    if (scalar.version != version)
      throw Refusal("uses a number from before and after it was rounded, clipped or added to");
  }

  //===------------------------------------------------------------------------===//
  // Integers
  //===------------------------------------------------------------------------===//

  /// The integer that a number is in units of the scalar's; thresholds are the same for every
  /// channel only where scales are, or the number is 0.
  static double inUnits(double number, const Scalar &scalar) {
    if (number == 0)
      return 0;
    if (scalar.exponents.size() != 1)
      throw Refusal("compares channels of different scales with " + textOf(number));
    return std::ldexp(number, -scalar.exponents[0]);
  }

  /// Leaves the integer alone as its function: what is a clip becomes stages.
  void resolve(Scalar &scalar) {
    requireCurrent(scalar);
    const auto &pieces = scalar.outcomes.all();
    if (pieces.size() == 1 && !pieces[0].value)
      return;
    std::optional<int64_t> least, most;
    bool isClip = true, seen = false;
    for (auto [i, piece] : llvm::enumerate(pieces)) {
      int64_t last = i + 1 < pieces.size() ? pieces[i + 1].from - 1 : INT64_MAX;
      if (chain.exactBelow == INT64_MAX &&
          (last < chain.range.low || piece.from > chain.range.high))
        continue; // never happens
      if (!piece.value) {
        isClip &= !seen;
        seen = true;
        continue;
      }
      double level = inUnits(*piece.value, scalar);
      if (level != std::floor(level) || std::abs(level) > 1e12) {
        isClip = false;
        continue;
      }
      auto integer = static_cast<int64_t>(level);
      if (!seen) {
        isClip &= !least && (last == integer || last == integer - 1);
        least = integer;
      } else {
        isClip &= !most && (piece.from == integer || piece.from == integer + 1);
        most = integer;
      }
    }
    if (!isClip || !seen)
      throw Refusal("selects numbers otherwise than a clip does");
    chain.clip(least, most);
    ++version;
    scalar = current(scalar.exponents);
  }

  /// The chain's integers changed: the scalar is the new ones.
  Scalar changed(std::vector<int> exponents, Type type) {
    ++version;
    chain.computeIn(type);
    return current(std::move(exponents));
  }

  /// One scale for all channels, the finest.
  void align(Scalar &scalar) {
    if (scalar.exponents.size() == 1)
      return;
    int least = *std::ranges::min_element(scalar.exponents);
    std::vector<int64_t> factors;
    for (int exponent : scalar.exponents) {
      if (exponent - least > 30)
        throw Refusal("scales of channels are more than 30 bits apart");
      factors.push_back(INT64_C(1) << (exponent - least));
    }
    chain.multiply(std::move(factors));
    ++version;
    scalar = current({least});
  }

  Scalar addNumbers(Scalar scalar, Numbers numbers, Type type) {
    resolve(scalar);
    size_t count = std::max(numbers.size(), scalar.exponents.size());
    auto exponent = [&](size_t i) { return scalar.exponents[i % scalar.exponents.size()]; };
    // A number between two integers: finer ones.
    int finer = 0;
    for (size_t i = 0; i < count; ++i) {
      double number = numbers[i % numbers.size()];
      if (!std::isfinite(number))
        throw Refusal("adds " + textOf(number));
      if (number != 0)
        finer = std::max(finer, exponent(i) - scaledOf(number).exponent);
    }
    chain.shiftLeft(finer);
    for (int &e : scalar.exponents)
      e -= finer;
    std::vector<int64_t> integers;
    for (size_t i = 0; i < count; ++i) {
      double integer = std::ldexp(numbers[i % numbers.size()], -exponent(i));
      if (std::abs(integer) > 1e12)
        throw Refusal("adds " + textOf(numbers[i % numbers.size()]) +
                      ", beyond 32 bits in the scale of the sum");
      integers.push_back(static_cast<int64_t>(integer));
    }
    if (count == 1)
      chain.add(integers[0]);
    else
      chain.add(std::move(integers));
    return changed(scalar.exponents, type);
  }

  Scalar addOther(Scalar scalar, const Scalar &other, Type type) {
    resolve(scalar);
    align(scalar);
    const Chain &source = std::get<Chain>(operands[other.operand]);
    int own = scalar.exponents[0], its = other.exponents[0];
    if (source.result != chain.result)
      throw Refusal("adds a value of other sizes");
    chain.shiftLeft(std::max(0, own - its));
    int shift = std::max(0, its - own);
    Range range = source.range;
    int64_t offset = source.offsetOfCells().value();
    chain.add(source.sources[0], {range.low - offset, range.high - offset}, shift);
    chain.add(other.offset << shift);
    return changed({std::min(own, its)}, type);
  }

  Scalar scale(Scalar scalar, const Numbers &numbers, bool divides, Type type) {
    if (scalar.kind == Scalar::Kind::Integers)
      resolve(scalar);
    size_t count = std::max(numbers.size(), scalar.exponents.size());
    std::vector<int> exponents;
    std::vector<int64_t> factors;
    for (size_t i = 0; i < count; ++i) {
      double number = numbers[i % numbers.size()];
      // Integers have no scales.
      Scaled scaled = isa<FloatType>(type) ? scaledOf(number) : Scaled{number, 0};
      if (number == 0 || !std::isfinite(number))
        throw Refusal("scales by " + textOf(number));
      // More digits than an integer of 16 bits has: the product would not fit 32.
      if (std::abs(scaled.factor) > 32767 || (divides && std::abs(scaled.factor) != 1))
        refuseScale(number);
      int exponent = scalar.exponents[i % scalar.exponents.size()] +
                     (divides ? -scaled.exponent : scaled.exponent);
      if (std::abs(exponent) > mostExponent)
        throw Refusal("scale " + textOf(number) + " leaves the range of numbers");
      exponents.push_back(exponent);
      factors.push_back(static_cast<int64_t>(scaled.factor));
    }
    if (llvm::all_equal(exponents))
      exponents.resize(1);
    bool multiplies = llvm::any_of(factors, [](int64_t factor) { return factor != 1; });
    if (scalar.kind == Scalar::Kind::Other) {
      if (multiplies || exponents.size() != 1)
        throw Refusal("scales a value that it adds by more than a power of two");
      scalar.exponents = exponents;
      return scalar;
    }
    if (!multiplies) {
      scalar.exponents = std::move(exponents);
      return scalar;
    }
    try {
      chain.multiply(std::move(factors));
    } catch (const Refusal &) {
      refuseScale(numbers[0]);
    }
    return changed(std::move(exponents), type);
  }

  /// To an integer: to the nearest even, or down.
  Scalar toInteger(Scalar scalar, bool down) {
    resolve(scalar);
    if (llvm::all_of(scalar.exponents, [](int exponent) { return exponent >= 0; }))
      return scalar;
    align(scalar);
    int bits = -scalar.exponents[0];
    down ? chain.floorShift(bits) : chain.roundShift(bits);
    ++version;
    return current({0});
  }

  //===------------------------------------------------------------------------===//
  // Conversions
  //===------------------------------------------------------------------------===//

  /// A narrow integer is known by its low bits: as a number with or without a sign.
  Scalar normalized(Scalar scalar, Type type, bool isSigned) const {
    if (type.getIntOrFloatBitWidth() >= 32 && isSigned)
      return scalar;
    double span = std::ldexp(1.0, static_cast<int>(type.getIntOrFloatBitWidth()));
    double low = isSigned ? -span / 2 : 0, high = low + span - 1;
    auto wrapped = [&](double number) { return number - span * std::floor((number - low) / span); };
    for (double &number : scalar.numbers)
      number = wrapped(number);
    if (scalar.kind != Scalar::Kind::Integers)
      return scalar;
    const auto &pieces = scalar.outcomes.all();
    for (auto [i, piece] : llvm::enumerate(pieces)) {
      auto [least, most] = integersOf(scalar, i);
      if (!piece.value && least <= most &&
          (static_cast<double>(least) < low || static_cast<double>(most) > high))
        throw Refusal("integers from " + std::to_string(least) + " to " + std::to_string(most) +
                      " wrap around in " + std::to_string(type.getIntOrFloatBitWidth()) + " bits");
    }
    scalar.outcomes = scalar.outcomes.map(
        [&](const Outcome &value) { return value ? Outcome(wrapped(*value)) : value; });
    return scalar;
  }

  /// The integers that can be in a piece.
  Range integersOf(const Scalar &scalar, size_t i) const {
    const auto &pieces = scalar.outcomes.all();
    int64_t last = i + 1 < pieces.size() ? pieces[i + 1].from - 1 : INT64_MAX;
    return {std::max(pieces[i].from, chain.range.low), std::min(last, chain.range.high)};
  }

  Scalar toIntegerType(Scalar scalar, Type type) {
    if (scalar.kind == Scalar::Kind::Numbers) {
      for (double &number : scalar.numbers)
        number = std::trunc(number);
      return scalar;
    }
    if (scalar.kind != Scalar::Kind::Integers)
      throw Refusal("converts a value that it adds");
    if (scalar.exponents != std::vector<int>{0}) {
      resolve(scalar);
      align(scalar);
      int exponent = scalar.exponents[0];
      if (exponent < 0 && chain.range.low < 0)
        throw Refusal("rounds toward 0, where the accelerator rounds down");
      exponent < 0 ? chain.floorShift(-exponent) : chain.shiftLeft(exponent);
      ++version;
      scalar = current({0});
    }
    scalar.outcomes = scalar.outcomes.map(
        [](const Outcome &value) { return value ? Outcome(std::trunc(*value)) : value; });
    return normalized(scalar, type, /*isSigned=*/true);
  }

  //===------------------------------------------------------------------------===//
  // Conditions
  //===------------------------------------------------------------------------===//

  enum class Relation { Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual };

  static bool holds(Relation relation, double a, double b) {
    switch (relation) {
    case Relation::Less:
      return a < b;
    case Relation::LessEqual:
      return a <= b;
    case Relation::Greater:
      return a > b;
    case Relation::GreaterEqual:
      return a >= b;
    case Relation::Equal:
      return a == b;
    case Relation::NotEqual:
      return a != b;
    }
    llvm_unreachable("a relation");
  }

  /// Of the integer itself with a number in its units.
  static Piecewise<bool> compare(Relation relation, double number) {
    number = std::clamp(number, -1e15, 1e15);
    auto up = static_cast<int64_t>(std::ceil(number));
    auto above = static_cast<int64_t>(std::floor(number)) + 1;
    switch (relation) {
    case Relation::Less:
      return {true, up, false};
    case Relation::GreaterEqual:
      return {false, up, true};
    case Relation::LessEqual:
      return {true, above, false};
    case Relation::Greater:
      return {false, above, true};
    case Relation::Equal:
    case Relation::NotEqual: {
      bool differs = relation == Relation::NotEqual;
      Piecewise<bool> result(differs);
      if (up != above) { // a whole number
        result.append(up, !differs);
        result.append(up + 1, differs);
      }
      return result;
    }
    }
    llvm_unreachable("a relation");
  }

  Scalar condition(Piecewise<bool> truth) const {
    Scalar result;
    result.kind = Scalar::Kind::Condition;
    result.version = version;
    result.truth = std::move(truth);
    return result;
  }

  Scalar compare(Relation relation, const Scalar &a, const Scalar &b) {
    if (a.kind == Scalar::Kind::Numbers && b.kind == Scalar::Kind::Integers) {
      auto swapped = relation == Relation::Less           ? Relation::Greater
                     : relation == Relation::LessEqual    ? Relation::GreaterEqual
                     : relation == Relation::Greater      ? Relation::Less
                     : relation == Relation::GreaterEqual ? Relation::LessEqual
                                                          : relation;
      return compare(swapped, b, a);
    }
    if (a.isNumber() && b.isNumber())
      return condition(Piecewise<bool>(holds(relation, a.numbers[0], b.numbers[0])));
    if (a.kind != Scalar::Kind::Integers || !b.isNumber())
      throw Refusal("compares two values that it computes");
    requireCurrent(a);
    double number = b.numbers[0];
    if (std::isnan(number))
      return condition(Piecewise<bool>(relation == Relation::NotEqual));
    Piecewise<bool> ofInteger = compare(relation, inUnits(number, a));
    return condition(a.outcomes.with(ofInteger, [&](const Outcome &value, bool truth) {
      return value ? holds(relation, *value, number) : truth;
    }));
  }

  Scalar select(const Scalar &chosen, Scalar yes, Scalar no) const {
    if (chosen.kind != Scalar::Kind::Condition)
      throw Refusal("selects by something else than a comparison");
    if (chosen.truth.all().size() == 1)
      return chosen.truth.at(0) ? yes : no;
    requireCurrent(chosen);
    for (const Scalar *branch : {&yes, &no})
      if (branch->kind == Scalar::Kind::Integers)
        requireCurrent(*branch);
      else if (!branch->isNumber())
        throw Refusal("selects between values that it reads");
    auto outcomesOf = [](const Scalar &branch) {
      return branch.kind == Scalar::Kind::Integers ? branch.outcomes
                                                   : Piecewise<Outcome>(branch.numbers[0]);
    };
    Scalar result = current(yes.kind == Scalar::Kind::Integers ? yes.exponents : no.exponents);
    if (yes.kind == no.kind && yes.exponents != no.exponents)
      throw Refusal("selects between scales");
    Piecewise<Outcome> first = outcomesOf(yes), second = outcomesOf(no);
    using Pair = std::pair<Outcome, Outcome>;
    auto both = first.with(second, [](const Outcome &a, const Outcome &b) { return Pair(a, b); });
    result.outcomes = chosen.truth.with(
        both, [](bool truth, const Pair &pair) { return truth ? pair.first : pair.second; });
    return result;
  }

  Scalar extremum(const Scalar &a, const Scalar &b, bool largest) {
    return select(compare(largest ? Relation::GreaterEqual : Relation::LessEqual, a, b), a, b);
  }

  Scalar logic(const Scalar &a, const Scalar &b, bool (*function)(bool, bool)) {
    if (a.kind != Scalar::Kind::Condition || b.kind != Scalar::Kind::Condition)
      throw Refusal("computes with single bits");
    for (const Scalar *side : {&a, &b})
      if (side->truth.all().size() > 1)
        requireCurrent(*side);
    return condition(a.truth.with(b.truth, function));
  }

  static std::optional<Relation> relationOf(arith::CmpFPredicate predicate) {
    using P = arith::CmpFPredicate;
    switch (predicate) { // nothing is NaN here
    case P::OEQ:
    case P::UEQ:
      return Relation::Equal;
    case P::OGT:
    case P::UGT:
      return Relation::Greater;
    case P::OGE:
    case P::UGE:
      return Relation::GreaterEqual;
    case P::OLT:
    case P::ULT:
      return Relation::Less;
    case P::OLE:
    case P::ULE:
      return Relation::LessEqual;
    case P::ONE:
    case P::UNE:
      return Relation::NotEqual;
    default:
      return std::nullopt;
    }
  }

  Scalar compareFloats(arith::CmpFOp op) {
    using P = arith::CmpFPredicate;
    P predicate = op.getPredicate();
    if (op.getLhs() == op.getRhs() && of(op.getLhs()).kind != Scalar::Kind::Numbers) {
      bool equal = predicate == P::OEQ || predicate == P::UEQ || predicate == P::ORD ||
                   predicate == P::OGE || predicate == P::OLE || predicate == P::UGE ||
                   predicate == P::ULE || predicate == P::AlwaysTrue;
      return condition(Piecewise<bool>(equal));
    }
    if (predicate == P::UNO || predicate == P::ORD)
      return condition(Piecewise<bool>(predicate == P::ORD));
    auto relation = relationOf(predicate);
    if (!relation)
      throw Refusal("compares in a way the accelerator has nothing for");
    return compare(*relation, of(op.getLhs()), of(op.getRhs()));
  }

  Scalar compareIntegers(arith::CmpIOp op) {
    using P = arith::CmpIPredicate;
    auto relation = [&]() -> Relation {
      switch (op.getPredicate()) {
      case P::eq:
        return Relation::Equal;
      case P::ne:
        return Relation::NotEqual;
      case P::slt:
        return Relation::Less;
      case P::sle:
        return Relation::LessEqual;
      case P::sgt:
        return Relation::Greater;
      case P::sge:
        return Relation::GreaterEqual;
      default:
        throw Refusal("compares numbers without signs");
      }
    }();
    Type type = op.getLhs().getType();
    return compare(relation, normalized(of(op.getLhs()), type, true),
                   normalized(of(op.getRhs()), type, true));
  }

  //===------------------------------------------------------------------------===//
  // Arithmetic
  //===------------------------------------------------------------------------===//

  Scalar onNumbers(const Scalar &a, const Scalar &b, Type type,
                   double (*function)(double, double)) {
    Scalar result;
    size_t count = std::max(a.numbers.size(), b.numbers.size());
    for (size_t i = 0; i < count; ++i)
      result.numbers.push_back(rounded(
          function(a.numbers[i % a.numbers.size()], b.numbers[i % b.numbers.size()]), type));
    return result;
  }

  static Numbers negated(Numbers numbers) {
    for (double &number : numbers)
      number = -number;
    return numbers;
  }

  Scalar sum(const Scalar &a, const Scalar &b, Type type) {
    using K = Scalar::Kind;
    if (a.kind == K::Numbers && b.kind == K::Numbers)
      return onNumbers(a, b, type, [](double x, double y) { return x + y; });
    if (a.kind == K::Numbers || (a.kind == K::Other && b.kind == K::Integers))
      return sum(b, a, type);
    if (a.kind == K::Integers && b.kind == K::Numbers)
      return addNumbers(a, b.numbers, type);
    if (a.kind == K::Integers && b.kind == K::Other)
      return addOther(a, b, type);
    if (a.kind == K::Integers && b.kind == K::Integers) { // twice the same
      requireCurrent(b);
      return scale(a, {2}, false, type);
    }
    if (a.kind == K::Other && b.isNumber()) {
      double integer = std::ldexp(b.numbers[0], -a.exponents[0]);
      if (integer != std::floor(integer) || std::abs(integer) > 1e6)
        throw Refusal("adds a number to a value that it adds");
      Scalar result = a;
      result.offset += static_cast<int64_t>(integer);
      return result;
    }
    throw Refusal("combines two values that it reads");
  }

  Scalar difference(const Scalar &a, const Scalar &b, Type type) {
    using K = Scalar::Kind;
    if (b.kind == K::Numbers) {
      Scalar negative = b;
      negative.numbers = negated(b.numbers);
      return sum(a, negative, type);
    }
    if (b.kind == K::Integers && a.kind != K::Integers)
      return sum(scale(b, {-1}, false, type), a, type);
    if (a.kind == K::Integers && b.kind == K::Other)
      return scale(sum(scale(a, {-1}, false, type), b, type), {-1}, false, type);
    throw Refusal("subtracts two values that it computes");
  }

  Scalar product(const Scalar &a, const Scalar &b, Type type) {
    if (a.kind == Scalar::Kind::Numbers && b.kind == Scalar::Kind::Numbers)
      return onNumbers(a, b, type, [](double x, double y) { return x * y; });
    if (a.kind == Scalar::Kind::Numbers)
      return scale(b, a.numbers, false, type);
    if (b.kind == Scalar::Kind::Numbers)
      return scale(a, b.numbers, false, type);
    throw Refusal("multiplies two values that it reads");
  }

  Scalar quotient(const Scalar &a, const Scalar &b, Type type) {
    if (b.kind != Scalar::Kind::Numbers)
      throw Refusal("divides by a value that it reads");
    if (a.kind == Scalar::Kind::Numbers)
      return onNumbers(a, b, type, [](double x, double y) { return x / y; });
    return scale(a, b.numbers, true, type);
  }

  Scalar asFloat(Scalar scalar, Type type) {
    if (scalar.kind == Scalar::Kind::Integers)
      chain.computeIn(type);
    for (double &number : scalar.numbers)
      number = rounded(number, type);
    return scalar;
  }

  int constantShift(Value value) const {
    const Scalar &bits = of(value);
    if (!bits.isNumber() || bits.numbers[0] < 0 || bits.numbers[0] > 31)
      throw Refusal("shifts by something else than a number");
    return static_cast<int>(bits.numbers[0]);
  }

  Scalar evaluate(Operation *op) {
    auto a = [&] { return of(op->getOperand(0)); };
    auto b = [&] { return of(op->getOperand(1)); };
    Type type = op->getResult(0).getType();
    Type from = op->getNumOperands() ? op->getOperand(0).getType() : Type();
    return llvm::TypeSwitch<Operation *, Scalar>(op)
        .Case([&](arith::ConstantOp constant) {
          Scalar scalar;
          if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
            scalar.numbers = {real.getValueAsDouble()};
          else if (type.isInteger(1))
            return condition(Piecewise<bool>(cast<BoolAttr>(constant.getValue()).getValue()));
          else
            scalar.numbers = {static_cast<double>(
                cast<IntegerAttr>(constant.getValue()).getValue().getSExtValue())};
          return scalar;
        })
        .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return sum(a(), b(), type); })
        .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return difference(a(), b(), type); })
        .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return product(a(), b(), type); })
        .Case([&](arith::DivFOp) { return quotient(a(), b(), type); })
        .Case([&](arith::NegFOp) {
          Scalar minus;
          minus.numbers = {-1};
          return product(a(), minus, type);
        })
        .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto) { return extremum(a(), b(), true); })
        .Case<arith::MinimumFOp, arith::MinNumFOp>([&](auto) { return extremum(a(), b(), false); })
        .Case([&](arith::MaxSIOp) {
          return extremum(normalized(a(), type, true), normalized(b(), type, true), true);
        })
        .Case([&](arith::MinSIOp) {
          return extremum(normalized(a(), type, true), normalized(b(), type, true), false);
        })
        .Case([&](arith::CmpFOp compared) { return compareFloats(compared); })
        .Case([&](arith::CmpIOp compared) { return compareIntegers(compared); })
        .Case([&](arith::SelectOp) { return select(a(), b(), of(op->getOperand(2))); })
        .Case([&](arith::OrIOp) { return logic(a(), b(), [](bool x, bool y) { return x || y; }); })
        .Case([&](arith::AndIOp) { return logic(a(), b(), [](bool x, bool y) { return x && y; }); })
        .Case([&](arith::XOrIOp) { return logic(a(), b(), [](bool x, bool y) { return x != y; }); })
        .Case([&](math::RoundEvenOp) { return toInteger(a(), /*down=*/false); })
        .Case([&](math::FloorOp) { return toInteger(a(), /*down=*/true); })
        .Case([&](arith::FPToSIOp) { return toIntegerType(a(), type); })
        .Case<arith::SIToFPOp>([&](auto) { return asFloat(normalized(a(), from, true), type); })
        .Case<arith::UIToFPOp>([&](auto) { return asFloat(normalized(a(), from, false), type); })
        .Case([&](arith::ExtSIOp) { return normalized(a(), from, true); })
        .Case([&](arith::ExtUIOp) { return normalized(a(), from, false); })
        .Case<arith::TruncIOp>([&](auto) { return a(); })
        .Case([&](hr::BitsOp) {
          Type number = type.isSignlessInteger() ? from : type;
          if (!number.isUnsignedInteger(8))
            throw Refusal("numbers of this type are none of the accelerator's");
          return normalized(a(), number, /*isSigned=*/false);
        })
        .Case([&](arith::ShLIOp) {
          Scalar factor;
          factor.numbers = {std::ldexp(1.0, constantShift(op->getOperand(1)))};
          return product(a(), factor, type);
        })
        .Case([&](arith::ShRSIOp) {
          Scalar scalar = a();
          if (scalar.kind != Scalar::Kind::Integers)
            throw Refusal("shifts a value that it adds");
          resolve(scalar);
          chain.floorShift(constantShift(op->getOperand(1)));
          ++version;
          return current({0});
        })
        .Default([&](Operation *other) -> Scalar {
          throw Refusal(other->getName().getStringRef().str() +
                        " is no function of the accelerator's ALU");
        });
  }

  hr::MapOp map;
  ArrayRef<MapOperand> operands;
  Chain chain;
  size_t version = 0;
  llvm::DenseMap<Value, Scalar> values;
};

} // namespace

Chain chainOfMap(hr::MapOp map, ArrayRef<MapOperand> operands, size_t main) {
  return BodyReader(map, operands, main).read();
}

} // namespace headrace::vta
