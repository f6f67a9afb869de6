#include "target/vta/fixed/BodyChain.h"

#include "target/vta/fixed/Arithmetic.h"
#include "target/vta/fixed/Conditions.h"
#include "target/vta/fixed/Conversions.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace headrace::vta {

namespace {

class BodyReader {
public:
  BodyReader(hr::MapOp map, ArrayRef<MapOperand> operands, size_t main)
      : map(map), integers(std::get<Chain>(operands[main])) {
    ValueRange inputs = map.getInputs();
    for (auto [i, operand] : llvm::enumerate(operands)) {
      Value argument = map.getBody().getArgument(static_cast<unsigned>(i));
      if (const auto *numbers = std::get_if<Numbers>(&operand)) {
        values[argument] = Scalar::constant(*numbers);
      } else if (inputs[i] == inputs[main]) {
        values[argument] = integers.current(integers.exponents());
      } else {
        const Chain &other = std::get<Chain>(operand);
        values[argument] = Scalar::stored(other);
        integers.offloadOperators(other);
      }
    }
  }

  Chain read() {
    for (Operation &op : map.getBody().front().without_terminator())
      values[op.getResult(0)] = evaluate(&op);
    auto yield = cast<hr::YieldOp>(map.getBody().front().getTerminator());
    Value value = yield.getValues()[0];
    Scalar result = of(value);
    if (result.kind != Scalar::Kind::Integers)
      throw Unsupported("does not depend on its operands");
    if (value.getType().isSignlessInteger())
      result = asSigned(value);
    return std::move(integers).endingIn(std::move(result));
  }

private:
  Scalar evaluate(Operation *op) {
    auto a = [&] { return of(op->getOperand(0)); };
    auto b = [&] { return of(op->getOperand(1)); };
    Type type = op->getResult(0).getType();
    return llvm::TypeSwitch<Operation *, Scalar>(op)
        .Case([&](arith::ConstantOp constant) { return ofConstant(constant); })
        .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return sum(a(), b(), type, integers); })
        .Case<arith::SubFOp, arith::SubIOp>(
            [&](auto) { return difference(a(), b(), type, integers); })
        .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return product(a(), b(), type, integers); })
        .Case([&](arith::DivFOp) { return quotient(a(), b(), type, integers); })
        .Case([&](arith::NegFOp) { return product(a(), Scalar::constant({-1}), type, integers); })
        .Case([&](arith::ShLIOp shift) {
          double factor = std::ldexp(1.0, constantShift(shift.getRhs()));
          return product(a(), Scalar::constant({factor}), type, integers);
        })
        .Case([&](arith::ShRSIOp shift) {
          return integers.shiftRight(a(), constantShift(shift.getRhs()));
        })
        .Case([&](math::RoundEvenOp) {
          return integers.toInteger(a(), IntegerStages::Rounding::NearestEven);
        })
        .Case([&](math::FloorOp) { return integers.toInteger(a(), IntegerStages::Rounding::Down); })
        .Case<arith::MaximumFOp, arith::MaxNumFOp>(
            [&](auto) { return largerOf(a(), b(), integers); })
        .Case<arith::MinimumFOp, arith::MinNumFOp>(
            [&](auto) { return smallerOf(a(), b(), integers); })
        .Case([&](arith::MaxSIOp larger) {
          return largerOf(asSigned(larger.getLhs()), asSigned(larger.getRhs()), integers);
        })
        .Case([&](arith::MinSIOp smaller) {
          return smallerOf(asSigned(smaller.getLhs()), asSigned(smaller.getRhs()), integers);
        })
        .Case([&](arith::CmpFOp compared) { return compareFloats(compared); })
        .Case([&](arith::CmpIOp compared) { return compareIntegers(compared); })
        .Case([&](arith::SelectOp) { return select(a(), b(), of(op->getOperand(2)), integers); })
        .Case([&](arith::OrIOp) {
          return logic(a(), b(), [](bool x, bool y) { return x || y; }, integers);
        })
        .Case([&](arith::AndIOp) {
          return logic(a(), b(), [](bool x, bool y) { return x && y; }, integers);
        })
        .Case([&](arith::XOrIOp) {
          return logic(a(), b(), [](bool x, bool y) { return x != y; }, integers);
        })
        .Case([&](arith::FPToSIOp) { return toIntegerType(a(), type, integers); })
        .Case([&](arith::SIToFPOp cast) { return toFloat(asSigned(cast.getIn()), type, integers); })
        .Case(
            [&](arith::UIToFPOp cast) { return toFloat(asUnsigned(cast.getIn()), type, integers); })
        .Case([&](arith::ExtSIOp cast) { return asSigned(cast.getIn()); })
        .Case([&](arith::ExtUIOp cast) { return asUnsigned(cast.getIn()); })
        .Case([&](arith::TruncIOp) { return a(); })
        .Case([&](hr::BitsOp) {
          Type number = type.isSignlessInteger() ? op->getOperand(0).getType() : type;
          if (!number.isUnsignedInteger(8))
            throw Unsupported("the accelerator does not have this type of integers");
          return normalized(a(), number, /*isSigned=*/false, integers);
        })
        .Default([&](Operation *other) -> Scalar {
          throw Unsupported(other->getName().getStringRef().str() +
                            " is not a function of the accelerator's ALU");
        });
  }

  const Scalar &of(Value value) const { return values.find(value)->second; }
  Scalar asSigned(Value value) const {
    return normalized(of(value), value.getType(), /*isSigned=*/true, integers);
  }
  Scalar asUnsigned(Value value) const {
    return normalized(of(value), value.getType(), /*isSigned=*/false, integers);
  }
  Scalar always(bool truth) const { return condition(Piecewise<bool>(truth), integers); }

  Scalar ofConstant(arith::ConstantOp constant) const {
    if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
      return Scalar::constant({real.getValueAsDouble()});
    if (constant.getType().isInteger(1))
      return always(cast<BoolAttr>(constant.getValue()).getValue());
    const llvm::APInt &integer = cast<IntegerAttr>(constant.getValue()).getValue();
    return Scalar::constant({static_cast<double>(integer.getSExtValue())});
  }

  int constantShift(Value value) const {
    const Scalar &bits = of(value);
    if (!bits.isNumber() || bits.numbers[0] < 0 || bits.numbers[0] > 31)
      throw Unsupported("shifts by something else than a number");
    return static_cast<int>(bits.numbers[0]);
  }

  Scalar compareFloats(arith::CmpFOp op) const {
    using P = arith::CmpFPredicate;
    P predicate = op.getPredicate();
    if (op.getLhs() == op.getRhs() && of(op.getLhs()).kind != Scalar::Kind::Numbers) {
      constexpr P ofEquals[] = {P::OEQ, P::UEQ, P::OGE, P::UGE,
                                P::OLE, P::ULE, P::ORD, P::AlwaysTrue};
      return always(llvm::is_contained(ofEquals, predicate));
    }
    if (predicate == P::UNO || predicate == P::ORD)
      return always(predicate == P::ORD);
    std::optional<Relation> relation = relationOf(predicate);
    if (!relation)
      throw Unsupported("compares in a way that the accelerator does not support");
    return compare(*relation, of(op.getLhs()), of(op.getRhs()), integers);
  }

  Scalar compareIntegers(arith::CmpIOp op) const {
    std::optional<Relation> relation = relationOf(op.getPredicate());
    if (!relation)
      throw Unsupported("compares unsigned integers");
    return compare(*relation, asSigned(op.getLhs()), asSigned(op.getRhs()), integers);
  }

  hr::MapOp map;
  IntegerStages integers;
  llvm::DenseMap<Value, Scalar> values;
};

} // namespace

Chain chainOfMap(hr::MapOp map, ArrayRef<MapOperand> operands, size_t main) {
  return BodyReader(map, operands, main).read();
}

} // namespace headrace::vta
