// Random programs of many results over shared operands, with sizes 0, 1 and open ones: no result
// takes the place of another. HEADRACE_RANDOM_PROGRAMS says how many programs each test makes, in
// place of a few.
#include "CompiledProgram.h"
#include <cstdlib>
#include <random>

using namespace mlir;

namespace headrace {
namespace {

/// A bush rather than a chain: most values are results, several of them constants, copies of an
/// operand, or of one another by another name. Numbers are whole and small, so nothing rounds.
class RandomResults {
public:
  explicit RandomResults(unsigned seed) : random(seed) {
    p.plainLoopsAllowed = true;
    element = pick(2) ? Type(p.builder().getI64Type()) : Type(p.builder().getF64Type());
    for (int i = pick(3); i > 0; --i)
      symbols.push_back(p.symbol("n" + std::to_string(symbols.size())));
    base.assign(symbols.begin(), symbols.end()); // some input determines each of them
    for (int i = symbols.empty() + pick(3); i > 0; --i)
      base.insert(base.begin() + pick(base.size() + 1), newSize());
    for (int i = 1 + pick(3); i > 0; --i)
      values.push_back(p.symbolicInput(i == 1 ? base : thinned(base), element));
    size_t inputs = values.size();
    for (int i = 3 + pick(6); i > 0; --i)
      values.push_back(newOperator());
    for (Value value : ArrayRef(values).drop_front(inputs))
      for (int times = pick(4) == 0 ? 2 : pick(4) > 0; times > 0; --times)
        p.output(value);
    p.output(values.back());
    p.output(pick(4) ? newOperator() : values.front());
  }

  /// Sizes for the symbols.
  CompiledProgram::Sizes newSizes() {
    static constexpr int64_t sizes[] = {0, 1, 2, 3, 5, 33, 70};
    CompiledProgram::Sizes result;
    for (size_t i = 0; i < symbols.size(); ++i)
      result.push_back(sizes[pick(std::size(sizes))]);
    return result;
  }
  bool isOpen() const { return !symbols.empty(); }

  CompiledProgram p;

private:
  int pick(size_t count) { return static_cast<int>(random() % count); }
  Value any() { return values[pick(values.size())]; }
  static int64_t rankOf(Value v) { return cast<RankedTensorType>(v.getType()).getRank(); }
  AffineExpr fixed(int64_t size) { return constantDim(size, p.context()); }

  AffineExpr newSize() {
    static constexpr int64_t sizes[] = {0, 1, 1, 2, 3, 8, 17, 33};
    return !symbols.empty() && pick(2) ? symbols[pick(symbols.size())]
                                       : fixed(sizes[pick(std::size(sizes))]);
  }

  /// Dimensions that broadcast to `shape`.
  SymbolicShape thinned(const SymbolicShape &shape) {
    SymbolicShape result;
    for (AffineExpr dim : ArrayRef(shape).drop_front(pick(shape.size() + 1)))
      result.push_back(pick(3) ? dim : fixed(1));
    return result;
  }

  Value newOperator() {
    Value x = any(), y = any();
    switch (pick(10)) {
    case 0:
      return binary<arith::SubIOp, arith::SubFOp>(x, x);
    case 1:
      return binary<arith::MaxSIOp, arith::MaximumFOp>(x, constantLike(x));
    case 2:
      return constantLike(x);
    case 3:
      return withLeadingOne(x);
    case 4:
      return reduced(x);
    case 5:
      return backwards(x);
    case 6:
      return row(x);
    case 7:
      return p.transpose(x, llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rankOf(x)))));
    default:
      if (!broadcastShapes(shapeOf(x), shapeOf(y)))
        y = x;
      return pick(2) ? binary<arith::SubIOp, arith::SubFOp>(x, y)
                     : binary<arith::MinSIOp, arith::MinimumFOp>(x, y);
    }
  }

  template <class IntegerOp, class FloatOp> Value binary(Value x, Value y) {
    return p.map({x, y}, [&](OpBuilder &b, ValueRange v) -> Value {
      if (isa<FloatType>(element))
        return b.create<FloatOp>(p.loc(), v[0], v[1]);
      return b.create<IntegerOp>(p.loc(), v[0], v[1]);
    });
  }

  /// A number, in the shape of `x`.
  Value constantLike(Value x) {
    auto type = RankedTensorType::get({}, element);
    TypedAttr number = isa<FloatType>(element)
                           ? TypedAttr(p.builder().getFloatAttr(element, pick(4)))
                           : TypedAttr(p.builder().getIntegerAttr(element, pick(4)));
    Value one = p.add<hr::ConstantOp>(DenseElementsAttr::get(type, ArrayRef<Attribute>(number)));
    return p.add<hr::BroadcastOp>(x.getType(), one);
  }

  /// The elements of x as another value.
  Value withLeadingOne(Value x) {
    if (rankOf(x) > 4)
      return p.add<hr::BroadcastOp>(x.getType(), x);
    SymbolicShape shape{fixed(1)};
    llvm::append_range(shape, shapeOf(x));
    Type type = tensorType(shape, element);
    return pick(2) ? p.add<hr::BroadcastOp>(type, x) : p.add<hr::ReshapeOp>(type, x);
  }

  Value reduced(Value x) {
    SmallVector<int64_t> axes;
    for (int64_t i = 0; i < rankOf(x); ++i)
      if (pick(2))
        axes.push_back(i);
    return p.reduce(hr::ReduceKind::Sum, x, axes, /*keepDims=*/pick(2));
  }

  Value sliced(Value x, ArrayRef<AffineExpr> starts, ArrayRef<int64_t> steps,
               const SymbolicShape &shape) {
    return p.add<hr::SliceOp>(tensorType(shape, element), x,
                              AffineMap::get(0, symbols.size(), starts, p.context()), steps);
  }

  /// All dimensions from the last element to the first.
  Value backwards(Value x) {
    SmallVector<AffineExpr> starts;
    for (AffineExpr dim : shapeOf(x))
      starts.push_back(constantValue(dim) == 0 ? fixed(0) : dim - 1);
    return sliced(x, starts, SmallVector<int64_t>(rankOf(x), -1), shapeOf(x));
  }

  /// One element of the first dimension that has a known size, by slicing or by index.
  Value row(Value x) {
    SymbolicShape shape = shapeOf(x);
    for (auto [axis, dim] : llvm::enumerate(shape)) {
      int64_t size = constantValue(dim).value_or(0);
      if (size == 0)
        continue;
      if (pick(2)) {
        auto type = RankedTensorType::get({1}, p.builder().getI64Type());
        Value index =
            p.add<hr::ConstantOp>(DenseElementsAttr::get(type, static_cast<int64_t>(pick(size))));
        return p.add<hr::GatherOp>(x, index, static_cast<int64_t>(axis));
      }
      SmallVector<AffineExpr> starts(shape.size(), fixed(0));
      SmallVector<int64_t> steps(shape.size(), 1);
      starts[axis] = fixed(pick(size));
      steps[axis] = 1 + pick(3);
      dim = fixed(1);
      return sliced(x, starts, steps, shape);
    }
    return withLeadingOne(x);
  }

  std::mt19937 random;
  Type element;
  SmallVector<AffineExpr> symbols;
  SymbolicShape base;
  SmallVector<Value> values;
};

unsigned programsPerTest() {
  const char *count = std::getenv("HEADRACE_RANDOM_PROGRAMS");
  return count ? static_cast<unsigned>(std::atoi(count)) : 8;
}

class RandomResultPrograms : public testing::TestWithParam<unsigned> {};

TEST_P(RandomResultPrograms, MatchTheReference) {
  for (unsigned i = 0; i < programsPerTest() && !HasFatalFailure(); ++i) {
    unsigned seed = GetParam() + i * 10;
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomResults program(seed);
    for (int trial = program.isOpen() ? 4 : 1; trial > 0 && !HasFatalFailure(); --trial)
      program.p.check(program.newSizes());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomResultPrograms, testing::Range(0u, 10u));

} // namespace
} // namespace headrace
