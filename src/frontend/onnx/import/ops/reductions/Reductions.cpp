// Reductions over some axes, and sums and products along one.
#include "frontend/onnx/import/Operators.h"

using namespace mlir;

namespace headrace::onnx {

struct ReducedAxes {
  SmallVector<int64_t> axes;
  bool keepDims;
};

/// The axes are an attribute in older versions, an input in newer ones; none means all, unless the
/// node says that none means none.
static ReducedAxes readAxes(NodeContext &c) {
  auto list = c.integersOf("axes", 1).value_or(std::vector<int64_t>());
  ReducedAxes reduced{c.axes(list, c.rank(0)), c.node.getInt("keepdims", 1) != 0};
  if (list.empty() && c.node.getInt("noop_with_empty_axes", 0) == 0)
    reduced.axes = llvm::to_vector(llvm::seq<int64_t>(0, c.rank(0)));
  llvm::sort(reduced.axes);
  return reduced;
}

static Value reduce(NodeContext &c, hr::ReduceKind kind, Value input) {
  ReducedAxes reduced = readAxes(c);
  return reduced.axes.empty() ? input : c.reduce(kind, input, reduced.axes, reduced.keepDims);
}

template <hr::ReduceKind kind, Accepts accepts = Accepts::Numbers>
static void importReduce(NodeContext &c) {
  c.result(reduce(c, kind, c.input(0, accepts)));
}

/// For booleans, the maximum is "any" and the minimum is "all".
template <hr::ReduceKind kind> static void importExtremum(NodeContext &c) {
  bool isBool = c.type(0).getElementType().isInteger(1);
  c.result(reduce(c, kind, c.input(0, isBool ? Accepts::Booleans : Accepts::Numbers)));
}

/// Cumulative sums and products.
template <hr::ReduceKind kind> static void importScan(NodeContext &c) {
  Value input = c.input(0, Accepts::Numbers);
  int64_t axis = c.axis(c.knownInteger(1), c.rank(0));
  bool exclusive = c.node.getInt("exclusive", 0) != 0, reverse = c.node.getInt("reverse", 0) != 0;
  c.result(c.infer<hr::ScanOp>(input, kind, axis, exclusive, reverse));
}

static Value square(ScalarMath &m, Value x) { return m.mul(x, x); }
static Value absolute(ScalarMath &m, Value x) { return m.abs(x); }
static Value root(ScalarMath &m, Value x) { return m.op<math::SqrtOp>(x); }
static Value logarithm(ScalarMath &m, Value x) { return m.op<math::LogOp>(x); }
static Value same(ScalarMath &, Value x) { return x; }

using Unary = Value (*)(ScalarMath &, Value);
static Value apply(NodeContext &c, Unary formula, Value x) {
  if (formula == same)
    return x;
  return c.map(x, [&](ScalarMath &m, ValueRange v) { return formula(m, v[0]); });
}

/// Integers in double precision, if a function of reals is applied to them; the result is
/// theirs, rounded towards 0.
static Value asReals(NodeContext &c, Value x) {
  bool isFloat = isa<FloatType>(c.type(0).getElementType());
  return isFloat ? x : c.cast(x, c.builder.getF64Type());
}

/// A sum with a function before and one after it.
template <Unary before, Unary after> static void importSumOf(NodeContext &c) {
  Value input = c.input(0, Accepts::Numbers);
  Value inner = apply(c, before, after == same ? input : asReals(c, input));
  Value result = apply(c, after, reduce(c, hr::ReduceKind::Sum, inner));
  c.result(c.cast(result, c.type(0).getElementType()));
}

/// log(sum(exp(x))) = max + log(sum(exp(x - max))), which does not overflow; an infinite maximum
/// stays out of the difference, if it would give NaN.
static void importLogSumExp(NodeContext &c) {
  Value input = asReals(c, c.input(0, Accepts::Numbers));
  ReducedAxes reduced = readAxes(c);
  if (reduced.axes.empty())
    return c.result(c.input(0));
  Value maximum = c.reduce(hr::ReduceKind::Max, input, reduced.axes, true);
  Value offset = c.map(maximum, [](ScalarMath &m, ValueRange x) {
    Value difference = m.sub(x[0], x[0]);
    Value finite = m.compare(ScalarMath::Compare::Equal, difference, m.number(x[0], 0));
    return m.select(finite, x[0], m.number(x[0], 0));
  });
  Value exponential =
      c.map({input, offset}, [](ScalarMath &m, ValueRange x) { return m.exp(m.sub(x[0], x[1])); });
  Value sum = c.reduce(hr::ReduceKind::Sum, exponential, reduced.axes, true);
  Value result = c.map({sum, offset}, [](ScalarMath &m, ValueRange x) {
    return m.add(m.op<math::LogOp>(x[0]), x[1]);
  });
  if (!reduced.keepDims) {
    SymbolicShape kept;
    for (auto [i, dim] : llvm::enumerate(c.shape(0)))
      if (!llvm::is_contained(reduced.axes, static_cast<int64_t>(i)))
        kept.push_back(dim);
    result = c.reshape(result, kept);
  }
  c.result(c.cast(result, c.type(0).getElementType()));
}

OperatorFamily reductionOperators() {
  static const Operator table[] = {
      {"ReduceSum", 7, importReduce<hr::ReduceKind::Sum>, shapes::reduceSum},
      {"ReduceProd", 7, importReduce<hr::ReduceKind::Prod>, shapes::reduceProd},
      {"ReduceMean", 7, importReduce<hr::ReduceKind::Mean>},
      {"ReduceMax", 7, importExtremum<hr::ReduceKind::Max>},
      {"ReduceMin", 7, importExtremum<hr::ReduceKind::Min>},
      {"CumSum", 11, importScan<hr::ReduceKind::Sum>},
      {"CumProd", 26, importScan<hr::ReduceKind::Prod>},
      {"ReduceSumSquare", 7, importSumOf<square, same>},
      {"ReduceL1", 7, importSumOf<absolute, same>},
      {"ReduceL2", 7, importSumOf<square, root>},
      {"ReduceLogSum", 7, importSumOf<same, logarithm>},
      {"ReduceLogSumExp", 7, importLogSumExp},
  };
  return table;
}

} // namespace headrace::onnx
