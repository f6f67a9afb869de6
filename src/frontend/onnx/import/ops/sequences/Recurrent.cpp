// Recurrent layers: products with the inputs of all steps at once, then a recurrence over the
// state.
#include "frontend/common/Compute.h"
#include "frontend/common/Products.h"
#include "frontend/onnx/import/Operators.h"
#include "frontend/onnx/import/ops/Recurrence.h"
#include "frontend/onnx/import/ops/products/Quantization.h"
#include "frontend/onnx/import/ops/sequences/ByteWeights.h"
#include "frontend/onnx/import/ops/sequences/RecurrentCells.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

namespace {

/// Weights as the standard has them, or of bytes: transposed, with scales and zero points at the
/// end. What they are multiplied with is then rounded to bytes of its own range.
enum class Weights { Plain, Bytes };

class Layer {
public:
  Layer(NodeContext &c, const Cell &cell, Weights weights = Weights::Plain)
      : c(c), cell(cell), hasBytes(weights == Weights::Bytes) {
    type = c.type(0).getElementType();
    wide = type.isF64() ? type : c.builder.getF32Type();
    for (size_t i : {0, 1, 2})
      c.checkRank(i, 3);
    batchFirst = c.node.getInt("layout", 0) != 0;
    input = ordered(floats(0));
    steps = shapeOf(input)[0];
    batch = shapeOf(input)[1];
    hidden = c.shape(2)[hasBytes ? 1 : 2];
    std::string direction = c.node.getString("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      c.fail(ErrorKind::InvalidModel,
             "attribute 'direction': expected forward, reverse or bidirectional, got {0}",
             inQuotes(direction));
    directions = direction == "bidirectional" ? 2 : 1;
    startsAtEnd = direction == "reverse";
    check();
    hasSteps = c.decideNonNegative(steps - 1, "number of steps less 1");
    if (hasBytes && hasSteps) {
      inputBytes = dynamicallyQuantized(c, input);
      inputWeights = readByteWeights(c, 1, 8, wide);
      stateWeights = readByteWeights(c, 2, 10, wide);
    }
    cells.emplace(c, cell, batch, hidden, directions, hasBytes);
    if (c.has(4)) {
      checkLengths();
      Value given = c.cast(c.input(4, Accepts::Integers), c.builder.getI64Type());
      lengths = c.checkedIndices(given, c.dim(0), steps + 1);
    }
  }

  void run() {
    if (!hasSteps)
      return yieldInitialStates();
    SmallVector<Value> gates, states, outputs, last[2];
    auto isReverse = [&](int64_t direction) { return startsAtEnd || direction == 1; };
    // Recurrences follow each other, with nothing in between: then they run side by side.
    for (int64_t i = 0; i < directions; ++i)
      gates.push_back(inputGates(i, isReverse(i)));
    for (int64_t i = 0; i < directions; ++i)
      states.push_back(statesOf(i, isReverse(i), gates[i]));
    for (int64_t i = 0; i < directions; ++i) {
      SymbolicShape lastState{c.dim(1), c.dim(1), batch, hidden}, state = lastState;
      state[0] = steps;
      Value all = part(states[i], {c.dim(0), c.dim(0), c.dim(0), c.dim(0)}, state);
      all = c.reshape(all, {steps, batch, hidden});
      if (isReverse(i))
        all = reversed(all);
      outputs.push_back(c.reshape(withoutPadding(all), {steps, c.dim(1), batch, hidden}));
      for (int64_t s = 0; s < cell.states; ++s) {
        Value final = part(states[i], {steps - 1, c.dim(s), c.dim(0), c.dim(0)}, lastState);
        last[s].push_back(c.reshape(final, {c.dim(1), batch, hidden}));
      }
    }
    c.result(c.cast(batchFirst ? c.transpose(joined(outputs, 1), {2, 0, 1, 3}) : joined(outputs, 1),
                    type));
    for (int64_t s = 0; s < cell.states; ++s)
      c.result(c.cast(ordered(joined(last[s], 0)), type), 1 + s);
  }

private:
  size_t initialAt() const { return 5; }

  /// The results without a step: no states, and as the last ones those before the first step.
  void yieldInitialStates() {
    SymbolicShape all{steps, c.dim(directions), batch, hidden};
    if (batchFirst)
      all = {batch, steps, c.dim(directions), hidden};
    c.result(c.cast(c.broadcast(c.scalar(0, wide), all), type));
    for (int64_t s = 0; s < cell.states; ++s) {
      SmallVector<Value> last;
      for (int64_t i = 0; i < directions; ++i)
        last.push_back(
            part(initialState(i), {c.dim(s), c.dim(0), c.dim(0)}, {c.dim(1), batch, hidden}));
      c.result(c.cast(ordered(joined(last, 0)), type), 1 + s);
    }
  }

  Value floats(size_t i) {
    c.checkSameType(0, i);
    return c.cast(c.input(i, Accepts::Floats), wide);
  }
  /// Exchanges the first two dimensions if the batch comes first.
  Value ordered(Value x) { return batchFirst ? c.transpose(x, {1, 0, 2}) : x; }

  void check() {
    SymbolicShape w{c.dim(directions), hidden * cell.gates, shapeOf(input)[2]};
    SymbolicShape r{c.dim(directions), hidden * cell.gates, hidden};
    for (SymbolicShape *shape : {&w, &r})
      if (hasBytes)
        std::swap((*shape)[1], (*shape)[2]);
    expectShape(1, w);
    expectShape(2, r);
    if (c.has(3))
      expectShape(3, {c.dim(directions), hidden * (2 * cell.gates)});
    SymbolicShape initial{c.dim(directions), batch, hidden};
    if (batchFirst)
      std::swap(initial[0], initial[1]);
    for (int64_t s = 0; s < cell.states; ++s)
      if (c.has(initialAt() + s))
        expectShape(initialAt() + s, initial);
    if (cell.gates == 4 && c.has(7))
      expectShape(7, {c.dim(directions), hidden * 3});
  }

  /// One for each sequence.
  void checkLengths() {
    c.checkRank(4, 1);
    AffineExpr count = c.shape(4)[0];
    if (constantValue(count) && constantValue(batch))
      return expectShape(4, {batch});
    c.requireNonNegative(count - batch, "lengths less sequences");
    c.requireNonNegative(batch - count, "sequences less lengths");
  }

  void expectShape(size_t i, ArrayRef<AffineExpr> wanted) {
    SymbolicShape found = c.shape(i);
    bool fits = found.size() == wanted.size();
    for (size_t d = 0; fits && d < found.size(); ++d)
      fits = sameSize(found[d], wanted[d]);
    if (!fits)
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1}, got {2}", c.nameOfInput(i),
             c.text(wanted), c.text(found));
  }

  Value part(Value x, ArrayRef<AffineExpr> starts, ArrayRef<AffineExpr> sizes) {
    return c.slice(x, starts, sizes, SmallVector<int64_t>(starts.size(), 1));
  }
  /// The slice of a direction, without that dimension.
  Value ofDirection(Value x, int64_t direction) {
    SymbolicShape shape = shapeOf(x), starts(shape.size(), c.dim(0));
    starts[0] = c.dim(direction);
    shape[0] = c.dim(1);
    return c.reshape(part(x, starts, shape), ArrayRef<AffineExpr>(shape).drop_front());
  }
  ByteWeights ofDirection(const ByteWeights &all, int64_t direction) {
    auto part = [&](Value x) { return x ? ofDirection(x, direction) : x; };
    return {part(all.numbers), part(all.sums), part(all.scales), part(all.zeroPoints)};
  }
  Value reversed(Value x) {
    SymbolicShape shape = shapeOf(x), starts(shape.size(), c.dim(0));
    SmallVector<int64_t> order(shape.size(), 1);
    starts[0] = shape[0] - 1;
    order[0] = -1;
    return c.slice(x, starts, shape, order);
  }
  Value joined(ArrayRef<Value> parts, int64_t axis) {
    return parts.size() == 1 ? parts.front() : c.infer<hr::ConcatOp>(ValueRange(parts), axis);
  }

  /// Results after the end of a sequence are 0.
  Value withoutPadding(Value all) {
    if (!lengths)
      return all;
    SmallVector<AffineExpr> d = dimensions(c, 0, 3);
    return writeCompute(c, {shapeOf(all), 0, {}, {{all, d}, {lengths, {d[1]}}}, {}},
                        [&](PointMath &m) {
                          Value isThere = m.less(m.position(0), m.read(1));
                          return m.select(isThere, m.read(0), m.number(m.read(0), 0));
                        });
  }

  /// The numbers of the steps in the order in which they are computed.
  Value stepNumbers(bool isReverse) {
    return writeCompute(c, {{steps}, 0, {}, {}, {}}, [&](PointMath &m) {
      Value at = m.position(0);
      return isReverse ? m.sub(m.sub(m.size(steps), m.integer(1)), at) : at;
    });
  }

  Value initialState(int64_t direction) {
    SmallVector<Value> states;
    SymbolicShape shape{c.dim(1), batch, hidden};
    for (int64_t s = 0; s < cell.states; ++s)
      if (c.has(initialAt() + s))
        states.push_back(
            c.reshape(ofDirection(ordered(floats(initialAt() + s)), direction), shape));
      else
        states.push_back(c.broadcast(c.scalar(0, wide), shape));
    return joined(states, 0);
  }

  /// The part of the bias at gate `first`, of `gates` gates.
  Value biasPart(int64_t direction, int64_t first, int64_t gates) {
    Value all = c.reshape(ofDirection(floats(3), direction), {c.dim(2 * cell.gates), hidden});
    return part(all, {c.dim(first), c.dim(0)}, {c.dim(gates), hidden});
  }

  /// [steps, batch, gates, hidden]: the products of the inputs of all steps.
  Value inputProducts(int64_t direction, bool isReverse) {
    SymbolicShape shape{steps, batch, c.dim(cell.gates), hidden};
    if (!hasBytes)
      return c.reshape(contract(c, isReverse ? reversed(input) : input,
                                ofDirection(floats(1), direction), "tbi", "gi", "tbg"),
                       shape);
    Value x = isReverse ? reversed(inputBytes.numbers) : inputBytes.numbers;
    ByteWeights w = ofDirection(inputWeights, direction);
    Type exact = c.builder.getI32Type();
    Value products = contract(c, x, w.numbers, "tbi", "ig", "tbg", exact);
    SmallVector<Value> values{c.reshape(products, shape), inputBytes.scale, inputBytes.zeroPoint,
                              perGate(w.sums), perGate(w.scales)};
    if (w.zeroPoints) {
      Value sums = c.reduce(hr::ReduceKind::Sum, c.cast(x, exact), {2}, false);
      values.append({perGate(w.zeroPoints), c.reshape(sums, {steps, batch, c.dim(1), c.dim(1)})});
    }
    return c.map(values, [](ScalarMath &m, ValueRange v) {
      ByteSum sum{v[0], v[1], v[2], v[3], v[4], nullptr, nullptr};
      if (v.size() > 5)
        std::tie(sum.zeroPoints, sum.factor) = std::tuple(v[5], v[6]);
      return numberOfSum(m, sum);
    });
  }
  /// A number for each column, by gates.
  Value perGate(Value columns) {
    return columns ? c.reshape(columns, {c.dim(cell.gates), hidden}) : columns;
  }

  /// [steps, batch, gates, hidden]: what the inputs and biases give, of all steps at once.
  Value inputGates(int64_t direction, bool isReverse) {
    Value gates = inputProducts(direction, isReverse);
    if (!c.has(3))
      return gates;
    Value first = biasPart(direction, 0, cell.gates),
          second = biasPart(direction, cell.gates, cell.gates);
    // The bias of a gate that is reset goes with the state.
    bool keepsLast = cells->isLinearBeforeReset();
    Value bias = writeCompute(
        c,
        {shapeOf(first), 0, {}, {{first, dimensions(c, 0, 2)}, {second, dimensions(c, 0, 2)}}, {}},
        [&](PointMath &m) {
          Value sum = m.add(m.read(0), m.read(1));
          return keepsLast ? m.select(m.equal(m.position(0), m.integer(2)), m.read(0), sum) : sum;
        });
    return c.map({gates, bias}, [](ScalarMath &m, ValueRange v) { return m.add(v[0], v[1]); });
  }

  /// The recurrent weights as [gate, element of the state, element of the gate]: the order in which
  /// steps read them.
  Value recurrentWeights(int64_t direction) {
    if (hasBytes)
      return besideEachOther(c, ofDirection(stateWeights.numbers, direction), cell.gates);
    return c.transpose(
        c.reshape(ofDirection(floats(2), direction), {c.dim(cell.gates), hidden, hidden}),
        {0, 2, 1});
  }

  Value statesOf(int64_t direction, bool isReverse, Value gates) {
    SmallVector<Value> sequences{gates}, constants;
    if (lengths)
      sequences.push_back(stepNumbers(isReverse));
    auto give = [&](Value constant) {
      if (constant)
        constants.push_back(constant);
      return constant ? std::optional(constants.size() - 1) : std::nullopt;
    };
    ByteWeights bytes = ofDirection(stateWeights, direction);
    auto weightsAt = give(recurrentWeights(direction)), lengthsAt = give(lengths);
    auto extraAt = give(extraConstant(direction)), sumsAt = give(perGate(bytes.sums));
    auto scalesAt = give(perGate(bytes.scales)), zeroPointsAt = give(perGate(bytes.zeroPoints));
    return writeRecurrence(
        c, sequences, initialState(direction), constants, [&](const RecurrenceStep &step) {
          auto given = [&](std::optional<size_t> at) { return at ? step.weights[*at] : Value(); };
          CellStep now{step.state, step.now[0], {}, given(extraAt), direction};
          now.recurrent = {given(weightsAt), given(sumsAt), given(scalesAt), given(zeroPointsAt)};
          if (lengths) {
            now.number = step.now[1];
            now.lengths = given(lengthsAt);
          }
          return cells->next(now);
        });
  }
  /// The peepholes of an LSTM, or the bias that a GRU resets; null if there are none.
  Value extraConstant(int64_t direction) {
    if (cell.gates == 4 && c.has(7))
      return c.reshape(ofDirection(floats(7), direction), {c.dim(3), hidden});
    if (cells->isLinearBeforeReset() && c.has(3))
      return c.reshape(biasPart(direction, 5, 1), {hidden});
    return nullptr;
  }

  NodeContext &c;
  const Cell &cell;
  const bool hasBytes;
  Type type, wide; // of the node's numbers, and of those that are computed with
  Value input;     // [steps, batch, features]
  AffineExpr steps, batch, hidden;
  int64_t directions = 1;
  bool batchFirst = false, startsAtEnd = false, hasSteps = true;
  std::optional<CellWriter> cells;
  Value lengths; // null if all sequences are as long
  DynamicallyQuantized inputBytes;
  ByteWeights inputWeights, stateWeights; // of all directions, if they are of bytes
};

} // namespace

static void importRnn(NodeContext &c) { Layer(c, kRnn).run(); }
static void importGru(NodeContext &c) { Layer(c, kGru).run(); }
static void importLstm(NodeContext &c) { Layer(c, kLstm).run(); }

void importDynamicQuantizeLstm(NodeContext &c) { Layer(c, kLstm, Weights::Bytes).run(); }

OperatorFamily recurrentOperators() {
  static const Operator table[] = {
      {"RNN", 7, importRnn},
      {"GRU", 7, importGru},
      {"LSTM", 7, importLstm},
  };
  return table;
}

} // namespace headrace::onnx
