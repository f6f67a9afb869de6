#include "frontend/onnx/import/ops/sequences/RecurrentCells.h"

#include "frontend/onnx/import/ops/products/Quantization.h"

using namespace mlir;

namespace headrace::onnx {

const Cell kRnn{1, 1, {"tanh"}}, kGru{3, 1, {"sigmoid", "tanh"}},
    kLstm{4, 2, {"sigmoid", "tanh", "tanh"}};

CellWriter::CellWriter(NodeContext &c, const Cell &cell, AffineExpr batch, AffineExpr hidden,
                       int64_t directions, bool hasBytes)
    : c(c), cell(cell), batch(batch), hidden(hidden), hasBytes(hasBytes),
      activations(readActivations(c, cell.activations, directions)) {
  if (const Attribute *given = c.node.find("clip"))
    clip = given->f;
}

bool CellWriter::isLinearBeforeReset() const {
  return cell.gates == 3 && c.node.getInt("linear_before_reset", 0) != 0;
}

Value CellWriter::activated(ScalarMath &m, int64_t direction, size_t function, Value x) const {
  if (clip) {
    Value limit = m.number(x, *clip);
    x = m.max(m.min(x, limit), m.neg(limit));
  }
  return activations[direction * cell.activations.size() + function].apply(m, x);
}

/// [batch, gates, hidden]: the state's part of the gates.
Value CellWriter::stateGates(const CellStep &step) {
  if (hasBytes)
    return byteGates(step);
  SmallVector<AffineExpr> d = dimensions(c, 0, 4);
  Compute compute{
      {batch, c.dim(cell.gates), hidden, hidden},
      1,
      hr::ReduceKind::Sum,
      {{step.state, {c.dim(0), d[0], d[3]}}, {step.recurrent.numbers, {d[1], d[3], d[2]}}},
      {}};
  return writeCompute(c, compute, [](PointMath &m) { return m.mul(m.read(0), m.read(1)); });
}

/// Like `stateGates`, for a state quantized to bytes of its own range.
Value CellWriter::byteGates(const CellStep &step) {
  const ByteWeights &weights = step.recurrent;
  SmallVector<AffineExpr> d = dimensions(c, 0, 5);
  Read state{step.state, {c.dim(0), d[0], d[1]}};
  auto bound = [&](hr::ReduceKind kind) -> Read {
    Compute all{{batch, hidden}, 2, kind, {state}, {}};
    return {writeCompute(c, all, [](PointMath &m) { return m.read(0); }), {}};
  };
  Type byte = c.builder.getIntegerType(8, /*isSigned=*/false), wide = c.builder.getI32Type();
  Read least = bound(hr::ReduceKind::Min), greatest = bound(hr::ReduceKind::Max);
  Read scale{writeCompute(c, {{}, 0, {}, {least, greatest}, {}},
                          [](PointMath &m) { return scaleOfRange(m, m.read(0), m.read(1)); }),
             {}};
  Read zeroPoint{
      writeCompute(c, {{}, 0, {}, {least, scale}, {}},
                   [&](PointMath &m) { return zeroPointOfRange(m, m.read(0), m.read(1), byte); }),
      {}};
  Value numbers =
      writeCompute(c, {{batch, hidden}, 0, {}, {state, scale, zeroPoint}, {}}, [&](PointMath &m) {
        return quantized(m, m.div(m.read(0), m.read(1)), m.read(2), byte);
      });

  SymbolicShape beside = shapeOf(weights.numbers); // [groups of terms, gates, hidden, terms]
  Compute product{{batch, c.dim(cell.gates), hidden, beside[0], beside[3]},
                  2,
                  hr::ReduceKind::Sum,
                  {{numbers, {d[0], d[3] * *constantValue(beside[3]) + d[4]}},
                   {weights.numbers, {d[3], d[1], d[2], d[4]}}},
                  {}};
  Value products = writeCompute(c, product, [&](PointMath &m) {
    return m.mul(m.convert(m.read(0), wide), m.convert(m.read(1), wide));
  });
  Compute gates{{batch, c.dim(cell.gates), hidden}, 0, {}, {}, {}};
  gates.reads = {{products, {d[0], d[1], d[2]}},
                 scale,
                 zeroPoint,
                 {weights.sums, {d[1], d[2]}},
                 {weights.scales, {d[1], d[2]}}};
  if (weights.zeroPoints) {
    Compute rows{{batch, hidden}, 1, hr::ReduceKind::Sum, {{numbers, {d[0], d[1]}}}, {}};
    Value sums = writeCompute(c, rows, [&](PointMath &m) { return m.convert(m.read(0), wide); });
    gates.reads.push_back({weights.zeroPoints, {d[1], d[2]}});
    gates.reads.push_back({sums, {d[0]}});
  }
  return writeCompute(c, gates, [&](PointMath &m) {
    ByteSum sum{m.read(0), m.read(1), m.read(2), m.read(3), m.read(4), nullptr, nullptr};
    if (weights.zeroPoints)
      std::tie(sum.zeroPoints, sum.factor) = std::tuple(m.read(5), m.read(6));
    return numberOfSum(m, sum);
  });
}

/// A compute over [states, batch, hidden] whose first reads are what inputs give to each gate,
/// what the state gives, and the states themselves.
Compute CellWriter::overStates(const CellStep &step, Value stateGates) {
  SmallVector<AffineExpr> d = dimensions(c, 0, 3);
  Compute compute{{c.dim(cell.states), batch, hidden}, 0, {}, {}, {}};
  for (Value gates : {step.gates, stateGates})
    for (int64_t g = 0; g < cell.gates; ++g)
      compute.reads.push_back({gates, {d[1], c.dim(g), d[2]}});
  for (int64_t s = 0; s < cell.states; ++s)
    compute.reads.push_back({step.state, {c.dim(s), d[1], d[2]}});
  if (step.lengths) {
    compute.reads.push_back({step.state, d});
    compute.reads.push_back({step.number, {}});
    compute.reads.push_back({step.lengths, {d[1]}});
  }
  return compute;
}
Value CellWriter::gate(PointMath &m, int64_t i) const {
  return m.add(m.read(i), m.read(cell.gates + i));
}
Value CellWriter::state(PointMath &m, int64_t i) const { return m.read(2 * cell.gates + i); }

/// A sequence that has ended keeps its state.
Value CellWriter::unlessEnded(PointMath &m, const CellStep &step, Value next) const {
  if (!step.lengths)
    return next;
  size_t at = 2 * cell.gates + cell.states;
  return m.select(m.less(m.read(at + 1), m.read(at + 2)), next, m.read(at));
}

Value CellWriter::next(const CellStep &step) {
  Value fromState = stateGates(step);
  if (cell.gates == 4)
    return nextLstm(step, fromState);
  if (cell.gates == 3)
    return nextGru(step, fromState);
  return writeCompute(c, overStates(step, fromState), [&](PointMath &m) {
    return unlessEnded(m, step, activated(m, step.direction, 0, gate(m, 0)));
  });
}

/// Gates: input, output, forget, cell. States: result, cell.
Value CellWriter::nextLstm(const CellStep &step, Value fromState) {
  Compute compute = overStates(step, fromState);
  size_t peepholes = compute.reads.size();
  if (step.extra)
    for (int64_t i = 0; i < 3; ++i)
      compute.reads.push_back({step.extra, {c.dim(i), getAffineDimExpr(2, c.context)}});
  bool forgetsWhatComes = c.node.getInt("input_forget", 0) != 0;
  return writeCompute(c, compute, [&](PointMath &m) {
    auto looking = [&](int64_t peephole, Value x, Value cellState) {
      return step.extra ? m.add(x, m.mul(m.read(peepholes + peephole), cellState)) : x;
    };
    Value old = state(m, 1);
    Value in = activated(m, step.direction, 0, looking(0, gate(m, 0), old));
    Value forget = forgetsWhatComes ? m.sub(m.number(in, 1), in)
                                    : activated(m, step.direction, 0, looking(2, gate(m, 2), old));
    Value fresh = activated(m, step.direction, 1, gate(m, 3));
    Value kept = m.add(m.mul(forget, old), m.mul(in, fresh));
    Value out = activated(m, step.direction, 0, looking(1, gate(m, 1), kept));
    const Activation &last = activations[step.direction * 3 + 2];
    Value result = m.mul(out, last.apply(m, kept));
    Value isResult = m.equal(m.position(0), m.integer(0));
    return unlessEnded(m, step, m.select(isResult, result, kept));
  });
}

/// Gates: update, reset, hidden.
Value CellWriter::nextGru(const CellStep &step, Value fromState) {
  Compute compute = overStates(step, fromState);
  size_t further = compute.reads.size();
  bool isLinear = isLinearBeforeReset();
  if (isLinear && step.extra)
    compute.reads.push_back({step.extra, {getAffineDimExpr(2, c.context)}});
  if (!isLinear)
    compute.reads.push_back({resetProduct(step, fromState), dimensions(c, 1, 3)});
  return writeCompute(c, compute, [&](PointMath &m) {
    Value update = activated(m, step.direction, 0, gate(m, 0)), fresh;
    if (isLinear) {
      Value reset = activated(m, step.direction, 0, gate(m, 1)), given = m.read(3 + 2);
      Value inner = step.extra ? m.add(given, m.read(further)) : given;
      fresh = m.add(m.read(2), m.mul(reset, inner));
    } else {
      fresh = m.add(m.read(2), m.read(further));
    }
    fresh = activated(m, step.direction, 1, fresh);
    Value rest = m.sub(m.number(update, 1), update);
    Value result = m.add(m.mul(rest, fresh), m.mul(update, state(m, 0)));
    return unlessEnded(m, step, result);
  });
}

/// [batch, hidden]: the hidden gate of the state once it is reset.
Value CellWriter::resetProduct(const CellStep &step, Value fromState) {
  SmallVector<AffineExpr> d = dimensions(c, 0, 3);
  Compute reset{{batch, hidden}, 0, {}, {}, {}};
  reset.reads = {{step.gates, {d[0], c.dim(1), d[1]}},
                 {fromState, {d[0], c.dim(1), d[1]}},
                 {step.state, {c.dim(0), d[0], d[1]}}};
  Value kept = writeCompute(c, reset, [&](PointMath &m) {
    Value open = activated(m, step.direction, 0, m.add(m.read(0), m.read(1)));
    return m.mul(open, m.read(2));
  });
  Compute product{{batch, hidden, hidden}, 1, hr::ReduceKind::Sum, {}, {}};
  product.reads = {{kept, {d[0], d[2]}}, {step.recurrent.numbers, {c.dim(2), d[2], d[1]}}};
  return writeCompute(c, product, [](PointMath &m) { return m.mul(m.read(0), m.read(1)); });
}

} // namespace headrace::onnx
