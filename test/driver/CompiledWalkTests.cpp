// Kernels that walk blocks of rows: several results, sums over all rows, chains of products.
#include "CompiledProgram.h"

using namespace mlir;
using headrace::hr::ReduceKind;

namespace headrace {
namespace {

/// A program over matrices of some rows and columns.
class Matrices {
public:
  Matrices(CompiledProgram &p, AffineExpr rows, AffineExpr columns, Type element)
      : p(p), rows(rows), columns(columns), element(element) {}

  Value matrix() { return p.symbolicInput({rows, columns}, element); }
  Value perRow() { return p.symbolicInput({rows}, element); }
  Value perColumn() { return p.symbolicInput({columns}, element); }
  Value columnsBy(int64_t count) {
    return p.symbolicInput({columns, constantDim(count, p.context())}, element);
  }
  Value product(ValueRange factors) {
    return p.map(factors, [&](OpBuilder &b, ValueRange v) {
      Value result = v[0];
      for (Value next : v.drop_front())
        result = b.create<arith::MulFOp>(p.loc(), result, next);
      return result;
    });
  }
  template <class Op> Value apply(Value x, Value y) {
    return p.map({x, y}, [&](OpBuilder &b, ValueRange v) -> Value {
      return b.create<Op>(p.loc(), v[0], v[1]);
    });
  }
  Value tanh(Value x) {
    return p.map({x}, [&](OpBuilder &b, ValueRange v) -> Value {
      return b.create<math::TanhOp>(p.loc(), v[0]);
    });
  }
  /// The sum of squares: nothing cancels, whose rounding would differ.
  Value sum(Value x) { return p.reduce(ReduceKind::Sum, product({x, x}), {0, 1}); }

  CompiledProgram &p;
  AffineExpr rows, columns;
  Type element;
};

struct Pattern {
  const char *name;
  void (*build)(Matrices &m);
  /// How many kernels it is at 1025 x 100.
  int64_t kernels;
};

void PrintTo(const Pattern &pattern, std::ostream *os) { *os << pattern.name; }

void sumOfProducts(Matrices &m) {
  m.p.output(m.sum(m.product({m.matrix(), m.matrix(), m.matrix()})));
}

void twoSums(Matrices &m) {
  Value x = m.matrix();
  m.p.output(m.sum(m.product({x, m.matrix()})));
  m.p.output(m.sum(m.product({x, m.matrix()})));
}

void columnSums(Matrices &m) { m.p.output(m.p.reduce(ReduceKind::Sum, m.matrix(), {0})); }

void rowSums(Matrices &m) { m.p.output(m.p.reduce(ReduceKind::Sum, m.matrix(), {1})); }

void extremes(Matrices &m) {
  Value x = m.matrix();
  m.p.output(m.p.reduce(ReduceKind::Max, x, {0, 1}));
  m.p.output(m.p.reduce(ReduceKind::Min, x, {0}));
  m.p.output(m.p.reduce(ReduceKind::Max, x, {1}));
}

void weightedSum(Matrices &m) { m.p.output(m.sum(m.product({m.matrix(), m.perColumn()}))); }

void chain(Matrices &m) {
  Value x = m.matrix();
  m.p.output(m.p.contract("rc,r->c", x, m.p.contract("rc,c->r", x, m.perColumn())));
}

void weightedChain(Matrices &m) {
  Value x = m.matrix(), product = m.p.contract("rc,c->r", x, m.perColumn());
  m.p.output(m.p.contract("rc,r->c", x, m.product({m.perRow(), product})));
}

/// The function between the products is computed once a row, however many columns there are.
void logisticChain(Matrices &m) {
  Value x = m.matrix(), product = m.p.contract("rc,c->r", x, m.perColumn());
  Value q = m.product({m.perRow(), m.tanh(product)});
  m.p.output(m.p.contract("rc,r->c", x, q));
  m.p.output(m.p.reduce(ReduceKind::Sum, q, {0}));
}

void chainOfMatrices(Matrices &m) {
  Value x = m.matrix(), product = m.p.contract("rc,ck->rk", x, m.columnsBy(3));
  m.p.output(m.p.contract("rc,rk->ck", x, product));
}

void normalizedExponentials(Matrices &m) {
  Value e = m.p.exp(m.matrix());
  m.p.output(m.apply<arith::DivFOp>(e, m.p.reduce(ReduceKind::Sum, e, {1}, /*keepDims=*/true)));
}

/// A value on the way that others need: stored, and used where it is computed.
void storedOnTheWay(Matrices &m) {
  Value y = m.tanh(m.matrix());
  m.p.output(y);
  m.p.output(m.product({y, y}));
  m.p.output(m.sum(y));
}

/// The backward pass of a normalization: one result per element, one per column.
void normalizationBackward(Matrices &m) {
  Value x = m.matrix(), dy = m.matrix(), scale = m.perColumn();
  Value largest = m.p.reduce(ReduceKind::Max, x, {1}, /*keepDims=*/true);
  Value centred = m.apply<arith::SubFOp>(x, largest);
  Value dx = m.product({dy, scale});
  Value mean = m.p.reduce(ReduceKind::Sum, m.product({dx, centred}), {1}, /*keepDims=*/true);
  m.p.output(m.apply<arith::SubFOp>(dx, m.product({centred, mean})));
  m.p.output(m.p.reduce(ReduceKind::Sum, m.product({dy, centred}), {0}));
  m.p.output(m.p.reduce(ReduceKind::Sum, dy, {0}));
}

constexpr Pattern kPatterns[] = {
    {"SumOfProducts", sumOfProducts, 2},
    {"TwoSums", twoSums, 3},
    {"ColumnSums", columnSums, 2},
    {"RowSums", rowSums, 1},
    {"Extremes", extremes, 3},
    {"WeightedSum", weightedSum, 2},
    {"Chain", chain, 2},
    {"WeightedChain", weightedChain, 2},
    {"LogisticChain", logisticChain, 3},
    {"ChainOfMatrices", chainOfMatrices, 2},
    {"NormalizedExponentials", normalizedExponentials, 1},
    {"StoredOnTheWay", storedOnTheWay, 2},
    {"NormalizationBackward", normalizationBackward, 3},
};

class Walk : public testing::TestWithParam<Pattern> {
protected:
  static Type f64(CompiledProgram &p) { return p.builder().getF64Type(); }
};

TEST_P(Walk, KnownSizes) {
  CompiledProgram p;
  Matrices m(p, constantDim(1025, p.context()), constantDim(100, p.context()), f64(p));
  GetParam().build(m);
  p.check();
  EXPECT_EQ(p.kernels(), GetParam().kernels) << p.text();
}

TEST_P(Walk, AnyNumberOfRows) {
  for (int64_t columns : {1, 3, 100}) {
    SCOPED_TRACE(std::to_string(columns) + " columns");
    CompiledProgram p;
    Matrices m(p, p.symbol("rows"), constantDim(columns, p.context()), f64(p));
    GetParam().build(m);
    for (int64_t rows : {0, 1, 2, 3, 7, 1000, 1025})
      p.check({rows});
  }
}

TEST_P(Walk, AnySizes) {
  CompiledProgram p;
  AffineExpr rows = p.symbol("rows"), columns = p.symbol("columns");
  Matrices m(p, rows, columns, p.f32());
  GetParam().build(m);
  for (auto [r, c] : {std::pair(2, 2), std::pair(7, 3), std::pair(65, 17), std::pair(301, 100)})
    p.check({r, c});
}

INSTANTIATE_TEST_SUITE_P(Patterns, Walk, testing::ValuesIn(kPatterns),
                         [](const testing::TestParamInfo<Pattern> &info) {
                           return std::string(info.param.name);
                         });

TEST(WalkGroups, RowsOfSeveralDimensions) {
  CompiledProgram p;
  Value x = p.input({3, 40, 24}), scale = p.input({24});
  Value total = p.reduce(ReduceKind::Sum, x, {2}, /*keepDims=*/true);
  Value y = p.sum({x, total});
  p.output(total);
  p.output(y);
  p.output(p.reduce(ReduceKind::Max, p.sum({y, scale}), {0, 1}));
  p.check();
  EXPECT_EQ(p.kernels(), 2) << p.text();
}

/// One operator that tells the leading dimensions apart keeps the others from walking both.
TEST(WalkGroups, RowsOfSeveralDimensionsThatDiffer) {
  CompiledProgram p;
  Value x = p.input({3, 40, 24}), shift = p.input({40, 24});
  Value total = p.reduce(ReduceKind::Sum, x, {2}, /*keepDims=*/true);
  p.output(total);
  p.output(p.sum({x, total, shift}));
  p.check();
}

/// A value that leaves a kernel and comes back into it by another one must not be in it.
TEST(WalkGroups, NeverWaitForThemselves) {
  CompiledProgram p;
  AffineExpr rows = p.symbol("rows"), columns = constantDim(24, p.context());
  Matrices m(p, rows, columns, p.f32());
  Value x = m.matrix(), y = m.tanh(x);
  Value total = m.p.reduce(ReduceKind::Max, y, {0, 1}, /*keepDims=*/true);
  Value scaled = m.apply<arith::SubFOp>(y, total);
  Value columnTotal = m.p.reduce(ReduceKind::Sum, scaled, {0});
  p.output(m.product({scaled, columnTotal}));
  p.output(total);
  p.output(m.product({x, y}));
  for (int64_t size : {2, 7, 301})
    p.check({size});
}

/// Its elements are as far apart as the matrix has columns.
TEST(WalkGroups, ReadAColumnOfAMatrix) {
  CompiledProgram p(R"(
    #x = affine_map<()[s0] -> (s0, 3)>
    #y = affine_map<()[s0] -> (8, s0, 1)>
    #column = affine_map<()[s0] -> (s0, 1)>
    func.func @main(%x: tensor<?x3xi8, #x>, %y: tensor<8x?x1xf64, #y>) -> tensor<8x?x1xf64, #y>
        attributes {hr.symbols = ["k"]} {
      %0 = hr.slice %x from affine_map<() -> (0, 2)> steps [1, 1]
         : (tensor<?x3xi8, #x>) -> tensor<?x1xi8, #column>
      %1 = hr.map(%0) : (tensor<?x1xi8, #column>) -> tensor<?x1xf64, #column> {
      ^bb0(%a: i8):
        %r = arith.sitofp %a : i8 to f64
        hr.yield %r : f64
      }
      %2 = hr.reduce max %1 axes [0] : (tensor<?x1xf64, #column>) -> tensor<1xf64>
      %3 = hr.map(%1, %2, %y) : (tensor<?x1xf64, #column>, tensor<1xf64>, tensor<8x?x1xf64, #y>)
         -> tensor<8x?x1xf64, #y> {
      ^bb0(%a: f64, %b: f64, %c: f64):
        %r = arith.addf %a, %b : f64
        %s = arith.addf %r, %c : f64
        hr.yield %s : f64
      }
      return %3 : tensor<8x?x1xf64, #y>
    })");
  for (int64_t size : {0, 1, 2, 7, 301})
    p.check({size});
}

} // namespace
} // namespace headrace
