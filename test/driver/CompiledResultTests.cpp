// Several results of a kernel and of a program: each has memory of its own.
#include "CompiledProgram.h"

using namespace mlir;

namespace headrace {
namespace {

/// Kernels of several results that walk rows if they can, and are plain loops if one of the
/// results stands in the way.
class CompiledResults : public testing::Test {
protected:
  CompiledResults() { p.plainLoopsAllowed = true; }

  Value difference(Value x, Value y) {
    return p.map({x, y}, [&](OpBuilder &b, ValueRange v) -> Value {
      if (isa<FloatType>(v[0].getType()))
        return b.create<arith::SubFOp>(p.loc(), v[0], v[1]);
      return b.create<arith::SubIOp>(p.loc(), v[0], v[1]);
    });
  }
  Value negated(Value x) {
    return p.map({x}, [&](OpBuilder &b, ValueRange v) -> Value {
      return b.create<arith::SubIOp>(p.loc(), b.create<arith::ConstantIntOp>(p.loc(), 0, 64), v[0]);
    });
  }
  AffineExpr fixed(int64_t size) { return constantDim(size, p.context()); }
  Type i64() { return p.builder().getI64Type(); }
  void checkSizes() {
    for (int64_t size : {0, 1, 2, 5, 64, 301})
      p.check({size});
  }

  CompiledProgram p;
};

TEST_F(CompiledResults, AConstantBesideAFunction) {
  Value a = p.symbolicInput({fixed(1), p.symbol("n")}, i64());
  p.output(negated(a));
  p.output(difference(a, a));
  checkSizes();
}

TEST_F(CompiledResults, AConstantBeforeAFunction) {
  Value a = p.input({8, 2, 6, 3}, i64());
  p.output(difference(a, a));
  p.output(negated(a));
  p.check();
}

/// No result depends on the input but by its size.
TEST_F(CompiledResults, FunctionsOfAConstant) {
  AffineExpr n = p.symbol("n"), m = p.symbol("m");
  Value a = p.symbolicInput({n, m}, i64());
  Value three =
      p.add<hr::BroadcastOp>(tensorType(SymbolicShape{n, m}, i64()), p.constant({}, i64()));
  Value negative = negated(three);
  p.output(negative);
  p.output(p.sum({negative, three}));
  p.output(difference(a, a));
  for (int64_t size : {2, 5, 301})
    p.check({size, 7});
}

/// An input stored as it is, next to functions of it.
TEST_F(CompiledResults, AnInputAmongResults) {
  AffineExpr n = p.symbol("n");
  Value a = p.symbolicInput({n, n, fixed(5), fixed(3)});
  Value b = p.symbolicInput({n, n, fixed(1), fixed(1)});
  Value c = p.symbolicInput({fixed(1), n, fixed(5), fixed(1)});
  p.output(p.add<hr::BroadcastOp>(
      tensorType(SymbolicShape{fixed(1), n, n, fixed(5), fixed(3)}, p.f32()), a));
  p.output(p.sum({a, b}));
  p.output(p.sum({c, a}));
  for (int64_t size : {1, 2, 5, 17})
    p.check({size});
}

/// Different programs for one value, which are found equal only in the kernel.
TEST_F(CompiledResults, EqualResults) {
  Value a = p.symbolicInput({p.symbol("n")}, i64()),
        b = p.symbolicInput({getAffineSymbolExpr(0, p.context())}, i64());
  p.output(difference(a, a));
  p.output(negated(p.sum({a, b})));
  p.output(difference(b, b));
  checkSizes();
}

TEST_F(CompiledResults, ViewsOfEachOther) {
  Value a = p.input({6, 20}), y = p.relu(a);
  p.output(y);
  p.output(y);
  p.output(p.reshape(y, {120}));
  p.output(p.reshape(p.reshape(y, {2, 60}), {6, 20}));
  p.output(a);
  p.output(p.reshape(a, {20, 6}));
  p.output(p.exp(p.reshape(y, {120})));
  p.check();
}

/// Accumulators that start from the same number.
TEST_F(CompiledResults, SumsThatStartAlike) {
  AffineExpr n = p.symbol("n");
  Value a = p.symbolicInput({n, fixed(9)}), b = p.symbolicInput({n, fixed(9)});
  for (Value x : {a, b, p.sum({a, b}), difference(a, b)}) {
    p.output(p.reduce(hr::ReduceKind::Sum, x, {0}));
    p.output(p.reduce(hr::ReduceKind::Sum, x, {1}));
    p.output(p.contract("rc,rc->c", x, a));
  }
  checkSizes();
}

//===--------------------------------------------------------------------------===//
// A result that is inserted into the memory it is computed in
//===--------------------------------------------------------------------------===//

TEST_F(CompiledResults, ARowOfAnOpenMatrix) {
  AffineExpr n = p.symbol("n"), m = p.symbol("m");
  Value a = p.symbolicInput({n, m});
  p.output(p.add<hr::GatherOp>(a, p.constant({1}, i64()), 0));
  for (auto [rows, columns] : {std::pair(1, 1), std::pair(2, 2), std::pair(9, 67)})
    p.check({rows, columns});
}

TEST_F(CompiledResults, AnOpenRowBackwards) {
  AffineExpr m = p.symbol("m");
  Value a = p.symbolicInput({fixed(1), m});
  AffineMap starts = AffineMap::get(0, 1, {fixed(0), m - 1}, p.context());
  p.output(p.add<hr::SliceOp>(tensorType(SymbolicShape{fixed(1), m}, p.f32()), a, starts,
                              ArrayRef<int64_t>{1, -1}));
  for (int64_t size : {1, 2, 3, 67})
    p.check({size});
}

} // namespace
} // namespace headrace
