// Random programs of a few operators: whatever fuses with whatever, results are the reference's.
#include "CompiledProgram.h"
#include <random>

using namespace mlir;

namespace headrace {
namespace {

/// Grows a program operator by operator from values that are already there. Values stay of the
/// order of 1, so that errors of rounding do too.
class RandomProgram {
public:
  explicit RandomProgram(unsigned seed) : random(seed) {
    symbolic = pick(3) == 0;
    if (symbolic)
      batch = p.symbol("batch");
    int inputs = 1 + pick(3);
    for (int i = 0; i < inputs; ++i)
      values.push_back(newInput(1 + pick(4)));
    int operators = 3 + pick(8);
    for (int i = 0; i < operators; ++i)
      if (Value next = newOperator())
        values.push_back(next);
    // The last value and now and then one on the way; every third program has many results, and
    // sums over all rows of some of them.
    p.output(values.back());
    bool many = pick(3) == 0;
    for (Value value : llvm::to_vector(values)) {
      if (pick(many ? 2 : 8) == 0)
        p.output(value);
      if (many && pick(3) == 0)
        p.output(totalOf(value));
    }
  }

  CompiledProgram p;
  bool symbolic = false;

private:
  int pick(int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); }
  Value any() { return values[pick(static_cast<int>(values.size()))]; }
  /// Mostly the newest value: programs are rather chains than bushes.
  Value recent() { return pick(3) ? values.back() : any(); }
  static int64_t rankOf(Value v) { return cast<RankedTensorType>(v.getType()).getRank(); }
  AffineExpr fixed(int64_t size) { return constantDim(size, p.context()); }
  static bool isSmall(const SymbolicShape &shape) {
    int64_t count = 1;
    for (AffineExpr dim : shape)
      count *= constantValue(dim).value_or(8);
    return count < 1 << 15;
  }

  AffineExpr newSize() {
    static constexpr int64_t sizes[] = {1, 2, 3, 5, 7, 8, 16, 17, 24, 33};
    return fixed(sizes[pick(std::size(sizes))]);
  }

  Value newInput(int rank) {
    SymbolicShape shape;
    for (int i = 0; i < rank; ++i)
      shape.push_back(i == 0 && symbolic ? batch : newSize());
    while (!isSmall(shape))
      shape.pop_back();
    return pick(4) == 0 && !symbolic ? p.constant(constantShape(shape)) : p.symbolicInput(shape);
  }

  static SmallVector<int64_t> constantShape(ArrayRef<AffineExpr> shape) {
    SmallVector<int64_t> sizes;
    for (AffineExpr dim : shape)
      sizes.push_back(*constantValue(dim));
    return sizes;
  }

  Value scaled(Value input, double factor) {
    return p.map({input}, [&](OpBuilder &b, ValueRange v) -> Value {
      Value scale =
          b.create<arith::ConstantOp>(p.loc(), b.getF32FloatAttr(static_cast<float>(factor)));
      return b.create<arith::MulFOp>(p.loc(), v[0], scale);
    });
  }

  Value newOperator() {
    switch (pick(16)) {
    case 0:
    case 1:
    case 2:
      return unary(recent());
    case 3:
    case 4:
    case 5:
      return binary(recent(), broadcastPartner(values.back()));
    case 6:
    case 7:
      return reduce(recent());
    case 8:
      return transpose(recent());
    case 9:
      return reshape(recent());
    case 10:
      return rankOf(recent()) ? softmaxOf(recent()) : Value();
    case 11:
    case 12:
      return contract(recent());
    case 13:
      return join(recent());
    case 14:
      return pad(recent());
    default:
      return pick(2) ? slice(recent()) : window(recent());
    }
  }

  Value unary(Value x) {
    int kind = pick(4);
    if (kind == 0)
      return p.relu(x);
    if (kind == 1)
      return scaled(x, -0.5);
    return p.map({x}, [&](OpBuilder &b, ValueRange v) -> Value {
      if (kind == 2)
        return b.create<math::TanhOp>(p.loc(), v[0]);
      return b.create<arith::MulFOp>(p.loc(), v[0], b.create<math::ErfOp>(p.loc(), v[0]));
    });
  }

  /// A value that broadcasts with `x`: an existing one, or a new input with dimensions left out.
  Value broadcastPartner(Value x) {
    Value other = any();
    auto joined = broadcastShapes(shapeOf(x), shapeOf(other));
    if (joined && isSmall(*joined))
      return other;
    SymbolicShape shape;
    for (AffineExpr dim : shapeOf(x))
      shape.push_back(pick(3) ? dim : fixed(1));
    shape.erase(shape.begin(), shape.begin() + pick(static_cast<int>(shape.size()) + 1));
    return p.symbolicInput(shape);
  }

  Value binary(Value x, Value y) {
    auto joined = broadcastShapes(shapeOf(x), shapeOf(y));
    if (!joined || !isSmall(*joined))
      return unary(x);
    int kind = pick(3);
    return p.map({x, y}, [&](OpBuilder &b, ValueRange v) -> Value {
      if (kind == 0)
        return b.create<arith::AddFOp>(p.loc(), v[0], v[1]);
      if (kind == 1)
        return b.create<arith::MaximumFOp>(p.loc(), v[0], v[1]);
      return b.create<arith::MulFOp>(p.loc(), v[0], b.create<math::TanhOp>(p.loc(), v[1]));
    });
  }

  Value reduce(Value x) {
    SmallVector<int64_t> axes;
    for (int64_t i = 0; i < rankOf(x); ++i)
      if (pick(2))
        axes.push_back(i);
    static constexpr hr::ReduceKind kinds[] = {hr::ReduceKind::Mean, hr::ReduceKind::Max,
                                               hr::ReduceKind::Min};
    Value small = p.reduce(kinds[pick(3)], x, axes, /*keepDims=*/pick(2));
    // Usually the reduced value meets the full one again, as in a normalization.
    if (pick(2) && broadcastShapes(shapeOf(x), shapeOf(small)))
      return binary(x, small);
    return small;
  }

  /// Reduces along the first dimension, and maybe all others.
  Value totalOf(Value x) {
    SmallVector<int64_t> axes;
    for (int64_t i = 0; i < rankOf(x); ++i)
      if (i == 0 || pick(2))
        axes.push_back(i);
    return p.reduce(pick(2) ? hr::ReduceKind::Mean : hr::ReduceKind::Max, x, axes);
  }

  Value transpose(Value x) {
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
    std::shuffle(order.begin(), order.end(), random);
    return p.transpose(x, order);
  }

  /// Merges two neighbouring dimensions, or splits one off.
  Value reshape(Value x) {
    SymbolicShape shape = shapeOf(x);
    if (shape.size() < 2)
      shape.insert(shape.begin() + pick(static_cast<int>(shape.size()) + 1), fixed(1));
    else {
      int at = pick(static_cast<int>(shape.size()) - 1);
      shape[at] = shape[at] * shape[at + 1];
      shape.erase(shape.begin() + at + 1);
    }
    return p.add<hr::ReshapeOp>(tensorType(shape, p.f32()), x);
  }

  Value softmaxOf(Value x) {
    if (rankOf(x) == 0)
      return {};
    return p.add<hr::SoftmaxOp>(x, pick(static_cast<int>(rankOf(x))), pick(4) == 0);
  }

  Value contract(Value x) {
    SymbolicShape shape = shapeOf(x);
    if (shape.empty() || shape.size() > 3)
      return {};
    auto inner = constantValue(shape.back());
    if (!inner || *inner == 0)
      return {};
    std::string letters = std::string("abc").substr(0, shape.size() - 1);
    bool transposed = pick(2), constant = pick(2);
    AffineExpr features = newSize();
    SymbolicShape other =
        transposed ? SymbolicShape{features, shape.back()} : SymbolicShape{shape.back(), features};
    std::string second = transposed ? "nk" : "kn";
    Value weights = constant ? p.constant(constantShape(other)) : p.symbolicInput(other);
    Value product = p.contract(letters + "k," + second + "->" + letters + "n", x, weights);
    Value result = scaled(product, 1.0 / static_cast<double>(*inner));
    return pick(2) ? p.relu(p.sum({result, p.symbolicInput({features})})) : result;
  }

  Value join(Value x) {
    if (rankOf(x) == 0)
      return {};
    int64_t axis = pick(static_cast<int>(rankOf(x)));
    SmallVector<Value> parts{x};
    for (int more = pick(3); more >= 0; --more) {
      SymbolicShape shape = shapeOf(x);
      shape[axis] = newSize();
      parts.push_back(pick(3) ? p.symbolicInput(shape) : x);
    }
    Value joined = p.add<hr::ConcatOp>(parts, axis);
    return isSmall(shapeOf(joined)) ? joined : Value();
  }

  Value pad(Value x) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < rankOf(x); ++i) {
      low.push_back(pick(3));
      high.push_back(pick(2));
    }
    return p.add<hr::PadOp>(x, low, high, TypedAttr(p.builder().getF32FloatAttr(0.25f)));
  }

  Value slice(Value x) {
    SymbolicShape shape = shapeOf(x);
    SmallVector<AffineExpr> starts;
    SmallVector<int64_t> steps;
    for (AffineExpr &dim : shape) {
      auto size = constantValue(dim);
      int64_t count = size && *size > 0 ? 1 + pick(static_cast<int>(*size)) : 0;
      if (count == 0) {
        starts.push_back(fixed(0));
        steps.push_back(1);
        continue;
      }
      // A single element has any step, and it means nothing.
      int64_t step = 1 + pick(static_cast<int>(count == 1 ? 4 : (*size - 1) / (count - 1)));
      int64_t start = pick(static_cast<int>(*size - (count - 1) * step));
      bool backwards = pick(4) == 0;
      starts.push_back(fixed(backwards ? start + (count - 1) * step : start));
      steps.push_back(backwards ? -step : step);
      dim = fixed(count);
    }
    return p.add<hr::SliceOp>(tensorType(shape, p.f32()), x,
                              AffineMap::get(0, 0, starts, p.context()), steps);
  }

  Value window(Value x) {
    SymbolicShape shape = shapeOf(x);
    if (shape.size() < 3 || shape.size() > 4)
      return {};
    size_t spatial = shape.size() - 2;
    SmallVector<int64_t> window, strides, ones(spatial, 1);
    for (size_t i = 0; i < spatial; ++i) {
      auto size = constantValue(shape[1 + i]);
      if (!size || *size == 0)
        return {};
      window.push_back(1 + pick(static_cast<int>(std::min<int64_t>(*size, 3))));
      strides.push_back(1 + pick(2));
    }
    // No window is in the padding alone.
    bool padded = llvm::all_of(window, [](int64_t size) { return size > 1; }) && pick(2);
    SmallVector<int64_t> pads(2 * spatial, padded);
    auto channels = constantValue(shape.back());
    if (pick(2) || !channels) {
      hr::PoolKind kind = pick(2) ? hr::PoolKind::Max : hr::PoolKind::Average;
      return p.add<hr::PoolOp>(x, kind, window, strides, ones, pads, false,
                               hr::ChannelLayout::Last);
    }
    bool depthwise = pick(2);
    AffineExpr features = depthwise ? shape.back() : newSize();
    SmallVector<int64_t> filter = window;
    filter.push_back(depthwise ? 1 : *channels);
    filter.push_back(*constantValue(features));
    int64_t summed = filter[spatial];
    for (int64_t size : window)
      summed *= size;
    Value result =
        p.add<hr::ConvOp>(x, p.constant(filter), strides, ones, pads, depthwise ? *channels : 1,
                          hr::ChannelLayout::Last, TypeAttr());
    return scaled(result, 1.0 / static_cast<double>(summed));
  }

  std::mt19937 random;
  AffineExpr batch;
  SmallVector<Value> values;
};

class RandomPrograms : public testing::TestWithParam<unsigned> {};

TEST_P(RandomPrograms, MatchTheReference) {
  constexpr unsigned kPrograms = 15;
  for (unsigned i = 0; i < kPrograms && !HasFatalFailure(); ++i) {
    unsigned seed = GetParam() * kPrograms + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProgram program(seed);
    if (!program.symbolic)
      program.p.check();
    else
      for (int64_t size : {1, 2, 9, 67})
        program.p.check({size});
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Range(0u, 10u));

} // namespace
} // namespace headrace
