// Compiled element-wise work against the reference: shapes, types, broadcasts, special numbers.
#include "CompiledProgram.h"

using namespace mlir;

namespace headrace {
namespace {

/// Applies one operation of the math or arith dialect to every element.
template <class Op> Value unary(CompiledProgram &p, Value input) {
  return p.map({input},
               [&](OpBuilder &b, ValueRange v) -> Value { return b.create<Op>(p.loc(), v[0]); });
}
template <class Op> Value binary(CompiledProgram &p, Value lhs, Value rhs) {
  return p.map({lhs, rhs}, [&](OpBuilder &b, ValueRange v) -> Value {
    return b.create<Op>(p.loc(), v[0], v[1]);
  });
}

/// x * tanh(log(1 + exp(x))), as an exporter writes it: one operator per function.
Value mish(CompiledProgram &p, Value x) {
  Value softplus = unary<math::Log1pOp>(p, p.exp(x));
  return binary<arith::MulFOp>(p, x, unary<math::TanhOp>(p, softplus));
}

TEST(CompiledMap, EveryLength) {
  CompiledProgram p;
  for (int64_t size : {0, 1, 2, 7, 8, 15, 16, 17, 31, 64, 65, 97, 128, 131, 1000, 4099, 65537})
    p.output(p.exp(p.input({size})));
  p.check();
}

TEST(CompiledMap, LongDimensionsAreCutIntoCells) {
  CompiledProgram p;
  for (int64_t size : {16384, 16385, 65536, 98304, 131072, 131101, 3 * 65536 + 5})
    p.output(p.relu(p.input({size})));
  p.check();
}

TEST(CompiledMap, EveryRank) {
  CompiledProgram p;
  const std::vector<int64_t> shapes[] = {
      {}, {5}, {3, 7}, {2, 3, 5}, {2, 1, 3, 4}, {2, 3, 1, 5, 7}, {1, 1, 1}, {4, 0, 3}};
  for (const std::vector<int64_t> &shape : shapes)
    p.output(p.relu(p.input(shape)));
  p.check();
}

TEST(CompiledMap, BroadcastsInEveryPosition) {
  // Every way to leave out or repeat a dimension of 3x5x7, against the full tensor.
  for (int mask = 0; mask < 8; ++mask) {
    CompiledProgram p;
    SmallVector<int64_t> repeated, sizes{3, 5, 7};
    for (int i = 0; i < 3; ++i)
      repeated.push_back(mask >> i & 1 ? 1 : sizes[i]);
    Value full = p.input(sizes), part = p.input(repeated);
    p.output(p.sum({full, part}));
    p.output(p.sum({part, full}));
    // Both sides are repeated.
    SmallVector<int64_t> other;
    for (int i = 0; i < 3; ++i)
      other.push_back(mask >> i & 1 ? sizes[i] : 1);
    p.output(p.sum({part, p.input(other)}));
    p.output(p.add<hr::BroadcastOp>(cast<RankedTensorType>(full.getType()), part));
    p.check();
  }
  CompiledProgram p;
  Value full = p.input({3, 5, 17});
  p.output(p.sum({full, p.input({17})}));
  p.output(p.sum({full, p.scalar()}));
  p.output(p.sum({full, p.input({5, 1})}));
  p.output(p.sum({p.scalar(), p.input({1}), p.input({5, 17})}));
  p.output(p.sum({p.input({97, 1}), p.input({1, 131})}));
  p.check();
}

TEST(CompiledMap, ElementaryFunctions) {
  for (Type type : {Type(Float32Type::get(CompiledProgram().context())),
                    Type(Float64Type::get(CompiledProgram().context()))}) {
    CompiledProgram p;
    Value x = p.input({3, 131}, type);
    p.output(unary<math::ExpOp>(p, x));
    p.output(unary<math::ExpM1Op>(p, x));
    p.output(unary<math::Exp2Op>(p, x));
    p.output(unary<math::TanhOp>(p, x));
    p.output(unary<math::ErfOp>(p, x));
    p.output(unary<math::SinOp>(p, x));
    p.output(unary<math::CosOp>(p, x));
    p.output(unary<math::TanOp>(p, x));
    p.output(unary<math::AtanOp>(p, x));
    p.output(unary<math::SinhOp>(p, x));
    p.output(unary<math::CoshOp>(p, x));
    p.output(unary<math::AsinhOp>(p, x));
    p.output(unary<math::FloorOp>(p, x));
    p.output(unary<math::CeilOp>(p, x));
    p.output(unary<math::RoundOp>(p, x));
    p.output(unary<math::RoundEvenOp>(p, x));
    p.output(unary<math::TruncOp>(p, x));
    p.output(unary<math::AbsFOp>(p, x));
    p.output(unary<math::CbrtOp>(p, x));
    Value positive = unary<math::AbsFOp>(p, x);
    p.output(unary<math::LogOp>(p, positive));
    p.output(unary<math::Log2Op>(p, positive));
    p.output(unary<math::Log10Op>(p, positive));
    p.output(unary<math::Log1pOp>(p, positive));
    p.output(unary<math::SqrtOp>(p, positive));
    p.output(unary<math::RsqrtOp>(p, positive));
    p.output(binary<math::PowFOp>(p, positive, x));
    p.output(binary<math::Atan2Op>(p, x, positive));
    p.output(binary<math::CopySignOp>(p, positive, x));
    p.output(mish(p, x));
    p.check();
  }
}

TEST(CompiledMap, SpecialNumbers) {
  for (Type type : {Type(Float32Type::get(CompiledProgram().context())),
                    Type(Float64Type::get(CompiledProgram().context()))}) {
    CompiledProgram p;
    Value x = p.input({7, 131}, type), y = p.input({7, 131}, type);
    p.output(p.relu(x));
    p.output(p.exp(x));
    p.output(unary<math::TanhOp>(p, x));
    p.output(unary<math::ErfOp>(p, x));
    p.output(unary<math::LogOp>(p, x));
    p.output(unary<math::Log2Op>(p, x));
    p.output(unary<math::Log1pOp>(p, x));
    p.output(unary<math::ExpM1Op>(p, x));
    p.output(unary<math::SqrtOp>(p, x));
    p.output(unary<math::AbsFOp>(p, x));
    p.output(unary<math::FloorOp>(p, x));
    p.output(unary<math::CeilOp>(p, x));
    p.output(unary<math::RoundOp>(p, x));
    p.output(unary<math::RoundEvenOp>(p, x));
    p.output(unary<math::TruncOp>(p, x));
    p.output(unary<math::AtanOp>(p, x));
    p.output(unary<arith::NegFOp>(p, x));
    p.output(binary<arith::AddFOp>(p, x, y));
    p.output(binary<arith::SubFOp>(p, x, y));
    p.output(binary<arith::MulFOp>(p, x, y));
    p.output(binary<arith::DivFOp>(p, x, y));
    p.output(binary<arith::MaximumFOp>(p, x, y));
    p.output(binary<arith::MinimumFOp>(p, x, y));
    p.output(binary<arith::MaxNumFOp>(p, x, y));
    p.output(binary<arith::MinNumFOp>(p, x, y));
    p.output(binary<math::PowFOp>(p, x, y));
    for (auto predicate : {arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE,
                           arith::CmpFPredicate::OLT, arith::CmpFPredicate::UGE})
      p.output(p.map({x, y}, [&](OpBuilder &b, ValueRange v) -> Value {
        return b.create<arith::CmpFOp>(p.loc(), predicate, v[0], v[1]);
      }));
    p.check({}, Fill::Special);
  }
}

TEST(CompiledMap, Integers) {
  for (unsigned width : {8, 16, 32, 64}) {
    CompiledProgram p;
    Type type = p.builder().getIntegerType(width);
    Value x = p.input({5, 97}, type), y = p.input({97}, type);
    p.output(binary<arith::AddIOp>(p, x, y));
    p.output(binary<arith::SubIOp>(p, x, y));
    p.output(binary<arith::MulIOp>(p, x, y));
    p.output(binary<arith::MaxSIOp>(p, x, y));
    p.output(binary<arith::MinSIOp>(p, x, y));
    p.output(binary<arith::AndIOp>(p, x, y));
    p.output(binary<arith::OrIOp>(p, x, y));
    p.output(binary<arith::XOrIOp>(p, x, y));
    p.output(unary<math::AbsIOp>(p, x));
    p.output(p.map({x, y}, [&](OpBuilder &b, ValueRange v) -> Value {
      Value one = b.create<arith::ConstantOp>(p.loc(), b.getIntegerAttr(type, 1));
      Value divisor = b.create<arith::MaxSIOp>(p.loc(), v[1], one);
      return b.create<arith::DivSIOp>(p.loc(), v[0], divisor);
    }));
    p.output(p.map({x, y}, [&](OpBuilder &b, ValueRange v) -> Value {
      return b.create<arith::CmpIOp>(p.loc(), arith::CmpIPredicate::slt, v[0], v[1]);
    }));
    p.output(p.map({x}, [&](OpBuilder &b, ValueRange v) -> Value {
      return b.create<arith::SIToFPOp>(p.loc(), b.getF32Type(), v[0]);
    }));
    p.check();
  }
}

TEST(CompiledMap, Booleans) {
  CompiledProgram p;
  Type boolean = p.builder().getI1Type();
  Value a = p.input({5, 97}, boolean), c = p.input({97}, boolean);
  Value x = p.input({5, 97}), y = p.input({5, 1});
  p.output(binary<arith::AndIOp>(p, a, c));
  p.output(binary<arith::OrIOp>(p, a, c));
  p.output(binary<arith::XOrIOp>(p, a, c));
  p.output(p.map({a, x, y}, [&](OpBuilder &b, ValueRange v) -> Value {
    return b.create<arith::SelectOp>(p.loc(), v[0], v[1], v[2]);
  }));
  Value less = p.map({x, y}, [&](OpBuilder &b, ValueRange v) -> Value {
    return b.create<arith::CmpFOp>(p.loc(), arith::CmpFPredicate::OLT, v[0], v[1]);
  });
  p.output(less);
  p.output(binary<arith::AndIOp>(p, less, a));
  p.output(p.map({a}, [&](OpBuilder &b, ValueRange v) -> Value {
    return b.create<arith::UIToFPOp>(p.loc(), b.getF32Type(), v[0]);
  }));
  p.output(p.map({a}, [&](OpBuilder &b, ValueRange v) -> Value {
    return b.create<arith::ExtUIOp>(p.loc(), b.getI64Type(), v[0]);
  }));
  p.output(a);
  p.check();
}

void checkHalfPrecision(const std::string &target) {
  CompiledProgram p;
  p.target = target;
  for (Type type : {Type(p.builder().getF16Type()), Type(p.builder().getBF16Type())}) {
    Value x = p.input({5, 97}, type), y = p.input({97}, type);
    p.output(binary<arith::AddFOp>(p, x, y));
    p.output(p.relu(x));
    p.output(p.exp(x));
    p.output(p.transpose(x, {1, 0}));
    p.output(p.map({x}, [&](OpBuilder &b, ValueRange v) -> Value {
      return b.create<arith::ExtFOp>(p.loc(), b.getF32Type(), v[0]);
    }));
    p.output(
        p.map({p.input({7}, p.builder().getF64Type())}, [&](OpBuilder &b, ValueRange v) -> Value {
          return b.create<arith::TruncFOp>(p.loc(), type, v[0]);
        }));
  }
  p.check();
}

TEST(CompiledMap, HalfPrecision) { checkHalfPrecision("cpu"); }

#ifdef __x86_64__
// Without instructions for f16 and bf16, conversions are calls.
TEST(CompiledMap, HalfPrecisionOnOldProcessors) { checkHalfPrecision("cpu:x86-64-v2"); }
#endif

TEST(CompiledMap, MixedWidths) {
  CompiledProgram p;
  Value x = p.input({3, 131}), d = p.input({3, 131}, p.builder().getF64Type());
  Value i = p.input({131}, p.builder().getI64Type());
  Value wide = p.map({x}, [&](OpBuilder &b, ValueRange v) -> Value {
    return b.create<arith::ExtFOp>(p.loc(), b.getF64Type(), v[0]);
  });
  p.output(binary<arith::MulFOp>(p, wide, d));
  p.output(p.map({d}, [&](OpBuilder &b, ValueRange v) -> Value {
    return b.create<arith::TruncFOp>(p.loc(), b.getF32Type(), v[0]);
  }));
  p.output(p.map({x, i}, [&](OpBuilder &b, ValueRange v) -> Value {
    Value number = b.create<arith::SIToFPOp>(p.loc(), b.getF32Type(), v[1]);
    return b.create<arith::AddFOp>(p.loc(), v[0], number);
  }));
  p.output(p.map({x}, [&](OpBuilder &b, ValueRange v) -> Value {
    return b.create<arith::FPToSIOp>(p.loc(), b.getI32Type(), v[0]);
  }));
  p.check();
}

TEST(CompiledMap, SymbolicSizes) {
  CompiledProgram p;
  AffineExpr batch = p.symbol("batch"), length = p.symbol("length");
  auto fixed = [&](int64_t size) { return constantDim(size, p.context()); };
  Value x = p.symbolicInput({batch, fixed(17)}), y = p.symbolicInput({batch, length});
  Value z = p.symbolicInput({length, fixed(3), batch});
  p.output(p.exp(x));
  p.output(p.relu(y));
  p.output(p.sum({x, p.input({17})}));
  p.output(p.sum({y, p.symbolicInput({batch, fixed(1)}), p.symbolicInput({length})}));
  p.output(p.relu(z));
  // The size itself as a number.
  p.output(p.map({y}, [&](OpBuilder &b, ValueRange v) -> Value {
    Value size = b.create<hr::SizeOp>(p.loc(), symbolMap({length * 2 + batch}, p.context()));
    Value number = b.create<arith::IndexCastOp>(p.loc(), b.getI64Type(), size);
    return b.create<arith::AddFOp>(p.loc(), v[0],
                                   b.create<arith::SIToFPOp>(p.loc(), b.getF32Type(), number));
  }));
  for (int64_t first : {0, 1, 2, 7, 33})
    for (int64_t second : {1, 5, 97, 16411})
      p.check({first, second});
}

TEST(CompiledMap, ManyOperatorsBecomeOneKernel) {
  CompiledProgram p;
  p.output(mish(p, p.input({7, 131})));
  p.check();
  EXPECT_EQ(p.kernels(), 1);

  CompiledProgram chain;
  Value x = chain.input({13, 17});
  for (int i = 0; i < 40; ++i)
    x = i % 2 ? unary<math::TanhOp>(chain, x) : chain.sum({x, chain.input({17})});
  chain.output(x);
  chain.check();
  EXPECT_EQ(chain.kernels(), 1);
}

} // namespace
} // namespace headrace
