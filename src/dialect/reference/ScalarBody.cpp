#include "dialect/reference/ScalarBody.h"

#include "dialect/scalar/ScalarFunctions.h"
#include "dialect/scalar/StorageType.h"
#include "runtime/tensor/Half.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <bit>
#include <cmath>

using namespace mlir;

namespace headrace::reference {

static bool compareFloats(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  case P::ORD:
    return !unordered;
  case P::UNO:
    return unordered;
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return unordered || a != b;
  }
  throw InternalError("unknown comparison of floats");
}

static bool compareIntegers(arith::CmpIPredicate predicate, int64_t a, int64_t b, unsigned width) {
  using P = arith::CmpIPredicate;
  uint64_t ua = unsignedBits(a, width), ub = unsignedBits(b, width);
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return ua < ub;
  case P::ule:
    return ua <= ub;
  case P::ugt:
    return ua > ub;
  case P::uge:
    return ua >= ub;
  }
  throw InternalError("unknown comparison of integers");
}

/// Toward zero; what the type cannot hold becomes the nearest it can, NaN becomes 0.
static int64_t toInteger(double value, unsigned width, bool isSigned) {
  double high = std::ldexp(1.0, static_cast<int>(isSigned ? width - 1 : width));
  double low = isSigned ? -high : 0.0;
  if (std::isnan(value))
    return 0;
  if (value <= low)
    return isSigned ? llvm::minIntN(width) : 0;
  if (value >= high)
    return isSigned ? llvm::maxIntN(width) : -1;
  return isSigned ? static_cast<int64_t>(value)
                  : static_cast<int64_t>(static_cast<uint64_t>(value));
}

/// The bits of a number in a float of 16 or more. Numbers are held with more digits than that; what
/// is cut off leaves the last one odd, so that rounding the bits further is as if done at once.
static int64_t bitsOf(double value, Type type) {
  if (type.isF64())
    return std::bit_cast<int64_t>(value);
  float single = narrowToOdd(value);
  if (type.isF32())
    return std::bit_cast<int32_t>(single);
  return static_cast<int16_t>(type.isF16() ? floatToF16(single) : floatToBf16(single));
}

static double numberOf(int64_t bits, Type type) {
  if (type.isF64())
    return std::bit_cast<double>(bits);
  if (type.isF32())
    return std::bit_cast<float>(static_cast<int32_t>(bits));
  auto half = static_cast<uint16_t>(bits);
  return type.isF16() ? f16ToFloat(half) : bf16ToFloat(half);
}

namespace {

/// Runs through a body; `lanes` holds every value computed so far.
class BodyEvaluator {
public:
  BodyEvaluator(int64_t count, Sizes symbols, const BodySurroundings &surroundings)
      : count(count), symbols(symbols), surroundings(surroundings) {}

  std::vector<Lanes> run(Block &body, std::vector<Lanes> arguments) {
    for (auto [argument, value] : llvm::zip(body.getArguments(), arguments))
      lanes[argument] = std::move(value);
    for (Operation &op : body.without_terminator()) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        runLoop(loop);
        continue;
      }
      Lanes result = evaluate(&op);
      if (surroundings.observer)
        surroundings.observer->changeScalar(op, result);
      lanes[op.getResult(0)] = std::move(result);
    }
    std::vector<Lanes> yielded;
    for (Value value : body.getTerminator()->getOperands())
      yielded.push_back(at(value));
    return yielded;
  }

  /// A loop has as many iterations for every element.
  void runLoop(scf::ForOp loop) {
    auto bound = [&](Value value) { return count == 0 ? 0 : integers(value)[0]; };
    int64_t begin = bound(loop.getLowerBound()), end = bound(loop.getUpperBound());
    std::vector<Lanes> carried;
    for (Value start : loop.getInitArgs())
      carried.push_back(at(start));
    for (int64_t i = begin; i < end; i += bound(loop.getStep())) {
      carried.insert(carried.begin(), integerResult(64, [&](int64_t) { return i; }));
      carried = run(*loop.getBody(), std::move(carried));
    }
    for (auto [result, value] : llvm::zip(loop.getResults(), carried))
      lanes[result] = std::move(value);
  }

  Lanes evaluate(Operation *op) {
    if (op->getNumResults() == 1 && op->getNumOperands() == 1)
      if (auto result = evaluateUnary(op))
        return std::move(*result);
    if (op->getNumResults() == 1 && op->getNumOperands() == 2)
      if (auto result = evaluateBinary(op))
        return std::move(*result);
    return evaluateSpecial(op);
  }

private:
  const double *floats(Value value) { return at(value).floats.data(); }
  const int64_t *integers(Value value) { return at(value).integers.data(); }

  /// Values from outside are repeated for every element once they are read.
  const Lanes &at(Value value) {
    auto found = lanes.find(value);
    if (found != lanes.end())
      return found->second;
    if (!surroundings.outer)
      throw InternalError("a scalar is used before it is computed");
    const Lanes &one = surroundings.outer->scalar(value);
    Lanes &all = lanes[value];
    if (!one.floats.empty())
      all.floats.assign(count, one.floats.front());
    if (!one.integers.empty())
      all.integers.assign(count, one.integers.front());
    return all;
  }

  template <class Function> Lanes floatResult(Function function) {
    Lanes result;
    result.floats.resize(count);
    for (int64_t i = 0; i < count; ++i)
      result.floats[i] = function(i);
    return result;
  }

  /// Integer results wrap around at the width of their type.
  template <class Function> Lanes integerResult(unsigned width, Function function) {
    Lanes result;
    result.integers.resize(count);
    for (int64_t i = 0; i < count; ++i)
      result.integers[i] = signedBits(function(i), width);
    return result;
  }

  std::optional<Lanes> evaluateUnary(Operation *op) {
    StringRef name = op->getName().getStringRef();
    Value operand = op->getOperand(0);
    if (FloatFunction1 function = findFloatFunction1(name)) {
      const double *a = floats(operand);
      return floatResult([&](int64_t i) { return function(a[i]); });
    }
    if (IntegerFunction1 function = findIntegerFunction1(name)) {
      const int64_t *a = integers(operand);
      unsigned width = widthOf(operand.getType());
      return integerResult(widthOf(op->getResult(0).getType()),
                           [&](int64_t i) { return function(a[i], width); });
    }
    return std::nullopt;
  }

  std::optional<Lanes> evaluateBinary(Operation *op) {
    StringRef name = op->getName().getStringRef();
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    if (FloatFunction2 function = findFloatFunction2(name)) {
      const double *a = floats(lhs), *b = floats(rhs);
      return floatResult([&](int64_t i) { return function(a[i], b[i]); });
    }
    if (IntegerFunction2 function = findIntegerFunction2(name)) {
      const int64_t *a = integers(lhs), *b = integers(rhs);
      unsigned width = widthOf(lhs.getType());
      return integerResult(width, [&](int64_t i) { return function(a[i], b[i], width); });
    }
    return std::nullopt;
  }

  /// Operations that are not functions of operands of one type.
  Lanes evaluateSpecial(Operation *op) {
    return llvm::TypeSwitch<Operation *, Lanes>(op)
        .Case([&](arith::ConstantOp constant) { return constantLanes(constant.getValue()); })
        .Case([&](hr::SizeOp size) {
          int64_t value = evaluateSize(size.getExpr().getResult(0), symbols);
          return integerResult(64, [&](int64_t) { return value; });
        })
        .Case([&](hr::IndexOp index) { return surroundings.positions.at(index.getDim()); })
        .Case([&](hr::ElementOp element) { return picked(element); })
        .Case([&](hr::BitsOp bits) { return at(bits.getInput()); })
        .Case([&](linalg::IndexOp index) { return surroundings.positions.at(index.getDim()); })
        .Case([&](tensor::ExtractOp extract) { return extracted(extract); })
        .Case([&](affine::AffineApplyOp apply) {
          return mapped(apply.getAffineMap(), apply.getMapOperands(),
                        [](int64_t value, int64_t) { return value; });
        })
        .Case([&](affine::AffineMinOp least) {
          return mapped(least.getAffineMap(), least.getOperands(),
                        [](int64_t a, int64_t b) { return std::min(a, b); });
        })
        .Case([&](affine::AffineMaxOp greatest) {
          return mapped(greatest.getAffineMap(), greatest.getOperands(),
                        [](int64_t a, int64_t b) { return std::max(a, b); });
        })
        .Case([&](arith::BitcastOp cast) { return recast(cast); })
        .Case([&](arith::CmpFOp compare) {
          const double *a = floats(compare.getLhs()), *b = floats(compare.getRhs());
          return integerResult(
              1, [&](int64_t i) { return compareFloats(compare.getPredicate(), a[i], b[i]); });
        })
        .Case([&](arith::CmpIOp compare) {
          const int64_t *a = integers(compare.getLhs()), *b = integers(compare.getRhs());
          unsigned width = widthOf(compare.getLhs().getType());
          return integerResult(1, [&](int64_t i) {
            return compareIntegers(compare.getPredicate(), a[i], b[i], width);
          });
        })
        .Case([&](arith::SelectOp select) { return selected(select); })
        .Case([&](arith::SIToFPOp cast) {
          const int64_t *a = integers(cast.getIn());
          return floatResult([&](int64_t i) { return static_cast<double>(a[i]); });
        })
        .Case([&](arith::UIToFPOp cast) {
          const int64_t *a = integers(cast.getIn());
          unsigned width = widthOf(cast.getIn().getType());
          return floatResult(
              [&](int64_t i) { return static_cast<double>(unsignedBits(a[i], width)); });
        })
        .Case([&](arith::FPToSIOp cast) { return truncated(cast, /*isSigned=*/true); })
        .Case([&](arith::FPToUIOp cast) { return truncated(cast, /*isSigned=*/false); })
        .Case([&](math::FmaOp fma) {
          const double *a = floats(fma.getA()), *b = floats(fma.getB()), *c = floats(fma.getC());
          return floatResult([&](int64_t i) { return std::fma(a[i], b[i], c[i]); });
        })
        .Case([&](math::FPowIOp power) {
          const double *a = floats(power.getLhs());
          const int64_t *b = integers(power.getRhs());
          return floatResult([&](int64_t i) { return std::pow(a[i], static_cast<double>(b[i])); });
        })
        .Default([](Operation *other) -> Lanes {
          throw InternalError("the reference has no scalar operation " +
                              other->getName().getStringRef().str());
        });
  }

  Lanes constantLanes(Attribute value) {
    if (auto number = dyn_cast<FloatAttr>(value))
      return floatResult([&](int64_t) { return number.getValueAsDouble(); });
    auto integer = cast<IntegerAttr>(value);
    int64_t bits = integer.getValue().getSExtValue();
    return integerResult(widthOf(integer.getType()), [&](int64_t) { return bits; });
  }

  Lanes selected(arith::SelectOp select) {
    const int64_t *condition = integers(select.getCondition());
    Value yes = select.getTrueValue(), no = select.getFalseValue();
    if (isPlainFloat(select.getType())) {
      const double *a = floats(yes), *b = floats(no);
      return floatResult([&](int64_t i) { return condition[i] ? a[i] : b[i]; });
    }
    const int64_t *a = integers(yes), *b = integers(no);
    return integerResult(widthOf(select.getType()),
                         [&](int64_t i) { return condition[i] ? a[i] : b[i]; });
  }

  Lanes recast(arith::BitcastOp cast) {
    Type from = cast.getIn().getType(), to = cast.getType();
    bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
    if (fromFloat == toFloat && !fromFloat)
      return at(cast.getIn());
    auto bits = [&](int64_t i) {
      return fromFloat ? bitsOf(floats(cast.getIn())[i], from) : integers(cast.getIn())[i];
    };
    if (!toFloat)
      return integerResult(widthOf(to), bits);
    return floatResult([&](int64_t i) { return numberOf(bits(i), to); });
  }

  Lanes picked(hr::ElementOp element) {
    auto argument = cast<BlockArgument>(element.getTable());
    size_t first = argument.getOwner()->getNumArguments() - surroundings.tables.size();
    const Tensor &table = surroundings.tables[argument.getArgNumber() - first];
    Type type = element.getType();
    if (table.elements() == 0)
      return constantLanes(Builder(type.getContext()).getZeroAttr(type));
    std::vector<int64_t> offsets(count, 0);
    for (auto [index, size] : llvm::zip(element.getIndices(), table.shape()))
      for (int64_t i = 0; i < count; ++i)
        offsets[i] = offsets[i] * size + std::clamp<int64_t>(integers(index)[i], 0, size - 1);
    return gatherLanes(table, type, offsets);
  }

  Lanes extracted(tensor::ExtractOp extract) {
    if (!surroundings.outer)
      throw InternalError("a tensor is read before it is computed");
    const Tensor &tensor = surroundings.outer->tensor(extract.getTensor());
    std::vector<Lanes> indices;
    for (Value index : extract.getIndices())
      indices.push_back(at(index));
    AffineMap map = AffineMap::getMultiDimIdentityMap(indices.size(), extract.getContext());
    return gatherLanes(tensor, extract.getType(),
                       placesAt(map, indices, count, tensor.shape(), "tensor.extract"));
  }

  Lanes mapped(AffineMap map, ValueRange operands, auto choose) {
    std::vector<Lanes> given;
    for (Value operand : operands)
      given.push_back(at(operand));
    std::vector<std::vector<int64_t>> values;
    for (AffineExpr expr : map.getResults())
      values.push_back(valuesAt(expr, given, count, map.getNumDims()));
    return integerResult(64, [&](int64_t i) {
      int64_t value = values.front()[i];
      for (const std::vector<int64_t> &other : values)
        value = choose(value, other[i]);
      return value;
    });
  }

  Lanes truncated(Operation *op, bool isSigned) {
    const double *a = floats(op->getOperand(0));
    unsigned width = widthOf(op->getResult(0).getType());
    return integerResult(width, [&](int64_t i) { return toInteger(a[i], width, isSigned); });
  }

  int64_t count;
  Sizes symbols;
  const BodySurroundings &surroundings;
  llvm::DenseMap<Value, Lanes> lanes;
};

} // namespace

Lanes evaluateBody(Block &body, std::vector<Lanes> arguments, int64_t count, Sizes symbols,
                   const BodySurroundings &surroundings) {
  return evaluateYields(body, std::move(arguments), count, symbols, surroundings).front();
}

std::vector<Lanes> evaluateYields(Block &body, std::vector<Lanes> arguments, int64_t count,
                                  Sizes symbols, const BodySurroundings &surroundings) {
  return BodyEvaluator(count, symbols, surroundings).run(body, std::move(arguments));
}

Lanes evaluateScalar(Operation *op, Sizes symbols, const OuterValues &values) {
  BodySurroundings surroundings;
  surroundings.outer = &values;
  return BodyEvaluator(1, symbols, surroundings).evaluate(op);
}

} // namespace headrace::reference
