#include "frontend/onnx/import/ops/ml/PairwiseProbabilities.h"

#include "frontend/common/Compute.h"
#include "frontend/onnx/import/ops/Composing.h"
#include "frontend/onnx/import/ops/Recurrence.h"
#include "frontend/onnx/import/ops/ml/Scores.h"

using namespace mlir;

namespace headrace::onnx {

namespace {

/// Minimizes p'Qp over probabilities p, one coordinate after the other; a round is a step of a
/// recurrence. Rows that are good enough stay as they are.
class Coupling {
public:
  Coupling(NodeContext &c, AffineExpr rows, int64_t classes)
      : c(c), rows(rows), classes(classes), row(getAffineDimExpr(0, c.context)) {}

  /// Q of the probabilities of pairs: minus the product of both directions, and on the diagonal the
  /// squares of what speaks for the others.
  Value matrix(Value pairs) {
    AffineExpr k = c.dim(classes);
    Value directed = directions(pairs);
    Compute squares{{rows, k, k}, 1, hr::ReduceKind::Sum, {}, {directed}};
    Value diagonal = writeCompute(c, squares, [&](PointMath &m) {
      Value other = m.element(0, {m.position(0), m.position(2), m.position(1)});
      Value isSame = m.equal(m.position(1), m.position(2));
      return m.select(isSame, m.number(other, 0), m.mul(other, other));
    });
    Compute all{{rows, k, k}, 0, {}, {{diagonal, dimensions(c, 0, 2)}}, {directed}};
    return writeCompute(c, all, [&](PointMath &m) {
      auto at = [&](Value i, Value j) { return m.element(0, {m.position(0), i, j}); };
      Value i = m.position(1), j = m.position(2);
      return m.select(m.equal(i, j), m.read(0), m.neg(m.mul(at(j, i), at(i, j))));
    });
  }

  Value next(const RecurrenceStep &step) {
    Value p = step.state, q = step.weights[0];
    AffineExpr k = c.dim(classes);
    SmallVector<AffineExpr> d = dimensions(c, 0, 3);
    Compute product{{rows, k, k}, 1, hr::ReduceKind::Sum, {{q, d}, {p, {d[0], d[2]}}}, {}};
    auto times = [](PointMath &m) { return m.mul(m.read(0), m.read(1)); };
    Value qp = writeCompute(c, product, times);
    Compute total{{rows, k}, 1, hr::ReduceKind::Sum, {{p, {d[0], d[1]}}, {qp, {d[0], d[1]}}}, {}};
    Value value = writeCompute(c, total, times);
    Compute farthest{{rows, k}, 1, hr::ReduceKind::Max, {{qp, {d[0], d[1]}}, {value, {row}}}, {}};
    Value error =
        writeCompute(c, farthest, [](PointMath &m) { return m.abs(m.sub(m.read(0), m.read(1))); });
    Value moving = joined(p, qp, value);
    for (int64_t i = 0; i < classes; ++i)
      moving = moved(moving, q, i);
    Compute chosen{{rows, k}, 0, {}, {{p, {d[0], d[1]}}, {error, {row}}}, {moving}};
    return writeCompute(c, chosen, [&](PointMath &m) {
      Value limit = m.number(m.read(1), 0.005 / static_cast<double>(classes));
      Value changed = m.element(0, {m.position(0), m.position(1)});
      return m.select(m.less(m.read(1), limit), m.read(0), changed);
    });
  }

private:
  /// [rows, classes, classes]: how likely the first class is against the second.
  Value directions(Value pairs) {
    std::vector<int32_t> places(classes * classes, 0);
    int32_t pair = 0;
    for (int64_t i = 0; i < classes; ++i)
      for (int64_t j = i + 1; j < classes; ++j, ++pair)
        places[i * classes + j] = places[j * classes + i] = pair;
    Value places2 = indexConstant(c, places, {classes, classes});
    SmallVector<AffineExpr> d = dimensions(c, 1, 3);
    Compute compute{{rows, c.dim(classes), c.dim(classes)}, 0, {}, {{places2, d}}, {pairs}};
    return writeCompute(c, compute, [&](PointMath &m) {
      Value place = m.convert(m.read(0), c.builder.getI64Type());
      Value known = m.element(0, {m.position(0), place});
      Value isFirst = m.less(m.position(1), m.position(2));
      return m.select(isFirst, known, m.sub(m.number(known, 1), known));
    });
  }

  /// p, Qp and p'Qp side by side: what changes together.
  Value joined(Value p, Value qp, Value value) {
    Compute compute{{rows, c.dim(2 * classes + 1)}, 0, {}, {{value, {row}}}, {p, qp}};
    return writeCompute(c, compute, [&](PointMath &m) {
      Value at = m.position(1), count = m.integer(classes);
      Value first = m.element(0, {m.position(0), at});
      Value second = m.element(1, {m.position(0), m.sub(at, count)});
      Value isLast = m.equal(at, m.integer(2 * classes));
      return m.select(isLast, m.read(0), m.select(m.less(at, count), first, second));
    });
  }

  /// After the best change of probability `i`, all scaled to a sum of 1 again.
  Value moved(Value moving, Value q, int64_t i) {
    AffineExpr at = getAffineDimExpr(1, c.context), here = c.dim(i);
    Compute compute{{rows, c.dim(2 * classes + 1)},
                    0,
                    {},
                    {{moving, {row, at}},
                     {moving, {row, c.dim(classes + i)}},
                     {moving, {row, c.dim(2 * classes)}},
                     {q, {row, here, here}}},
                    {q}};
    return writeCompute(c, compute, [&](PointMath &m) {
      Value now = m.read(0), qpi = m.read(1), value = m.read(2), qii = m.read(3);
      Value change = m.div(m.sub(value, qpi), qii);
      Value scale = m.add(m.number(change, 1), change);
      Value place = m.position(1), count = m.integer(classes);
      Value added = m.select(m.equal(place, m.integer(i)), change, m.number(change, 0));
      Value p = m.div(m.add(now, added), scale);
      Value qij = m.element(0, {m.position(0), m.integer(i), m.sub(place, count)});
      Value qp = m.div(m.add(now, m.mul(change, qij)), scale);
      Value twice = m.mul(m.number(qpi, 2), qpi);
      Value grown = m.add(now, m.mul(change, m.add(m.mul(change, qii), twice)));
      Value last = m.div(m.div(grown, scale), scale);
      Value isLast = m.equal(place, m.integer(2 * classes));
      return m.select(isLast, last, m.select(m.less(place, count), p, qp));
    });
  }

  NodeContext &c;
  AffineExpr rows;
  int64_t classes;
  AffineExpr row;
};

} // namespace

Value classProbabilities(NodeContext &c, Value pairs, int64_t classes) {
  constexpr int64_t kRounds = 100, kMaxClasses = 64;
  if (classes > kMaxClasses)
    c.fail(ErrorKind::Unsupported, "expected at most {0} classes with probabilities, got {1}",
           kMaxClasses, classes);
  AffineExpr rows = shapeOf(pairs)[0], one = c.dim(1), zero = c.dim(0);
  Coupling coupling(c, rows, classes);
  Value q = coupling.matrix(pairs);
  Type type = elementTypeOf(pairs);
  Value even =
      c.broadcast(c.scalar(1.0 / static_cast<double>(classes), type), {rows, c.dim(classes)});
  Value rounds = positions(c, c.dim(kRounds));
  Value states = writeRecurrence(c, rounds, even, q,
                                 [&](const RecurrenceStep &step) { return coupling.next(step); });
  Value last = c.slice(states, {c.dim(kRounds - 1), zero, zero}, {one, rows, c.dim(classes)},
                       SmallVector<int64_t>(3, 1));
  return c.reshape(last, {rows, c.dim(classes)});
}

} // namespace headrace::onnx
