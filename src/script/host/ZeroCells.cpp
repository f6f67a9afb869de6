#include "script/host/ZeroCells.h"

#include <algorithm>
#include <cmath>

namespace headrace::script {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

Range Range::of(double number) { return {number, number, std::isnan(number)}; }

bool Range::finite() const { return !nan && low > -kInfinity && high < kInfinity; }

static Range made(double low, double high, bool nan) {
  if (std::isnan(low) || std::isnan(high))
    return {};
  return {low, high, nan};
}

static Range times(const Range &a, const Range &b) {
  // 0 times what may be infinite may be NaN, and says nothing of the rest.
  if (!a.finite() || !b.finite())
    return {};
  auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return {low, high, false};
}

static Range dividedBy(const Range &a, const Range &b) {
  if (!a.finite() || b.nan || (b.low <= 0 && b.high >= 0))
    return {};
  auto [low, high] = std::minmax({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
  return {low, high, false};
}

/// A function that never falls as its operand grows, and has a value wherever it is.
static Range growing(CellFunction function, const Range &a) {
  return made(apply(function, a.low), apply(function, a.high), a.nan);
}

static Range ofCells(CellFunction function, const Range &a, const Range &b) {
  using enum CellFunction;
  if (function == And && (a.isZero() || b.isZero()))
    return Range::of(0);
  if (describe(function).logical) {
    bool single = a.low == a.high && b.low == b.high && !a.nan && !b.nan;
    return single ? Range::of(apply(function, a.low, b.low)) : Range{0, 1, false};
  }
  bool isPoint = a.low == a.high && !a.nan;
  switch (describe(function).growth) {
  case Growth::Growing:
    return growing(function, a);
  case Growth::GrowingFromZero:
    return a.low >= 0 ? growing(function, a) : Range{};
  case Growth::WithinOne:
    return isPoint ? growing(function, a) : Range{-1, 1, !a.finite()};
  case Growth::Other:
    break;
  }
  switch (function) {
  case Sign:
  case Round:
    return growing(function, a);
  case Negate:
    return {-a.high, -a.low, a.nan};
  case Abs: {
    double most = std::max(std::fabs(a.low), std::fabs(a.high));
    bool across = a.low <= 0 && a.high >= 0;
    return {across ? 0 : std::min(std::fabs(a.low), std::fabs(a.high)), most, a.nan};
  }
  case Add:
    return made(a.low + b.low, a.high + b.high, a.nan || b.nan || !a.finite() || !b.finite());
  case Subtract:
    return made(a.low - b.high, a.high - b.low, a.nan || b.nan || !a.finite() || !b.finite());
  case Multiply:
    return times(a, b);
  case Divide:
    return dividedBy(a, b);
  case Min:
    return {std::min(a.low, b.low), std::min(a.high, b.high), a.nan || b.nan};
  case Max:
    return {std::max(a.low, b.low), std::max(a.high, b.high), a.nan || b.nan};
  case Power:
    if (b.low == 2 && b.high == 2)
      return times(ofCells(Abs, a, {}), ofCells(Abs, a, {}));
    if (a.low >= 0 && b.low == b.high && b.low > 0)
      return made(std::pow(a.low, b.low), std::pow(a.high, b.low), a.nan || b.nan);
    return {};
  default:
    return isPoint && b.low == b.high && !b.nan ? Range::of(apply(function, a.low, b.low))
                                                : Range{};
  }
}

/// Every cell is a sum of as many products as the factors have cells in common.
static Range ofProduct(const Range &a, const Range &b, const Size &inner,
                       std::span<const int64_t> symbols) {
  Range product = times(a, b);
  if (product.nan || !inner.known() || (!inner.constant() && symbols.empty()))
    return {};
  auto terms = static_cast<double>(inner.evaluate(symbols));
  return {std::min(0.0, product.low * terms), std::max(0.0, product.high * terms), false};
}

bool keepsZeros(const Dag &expression, std::span<const int64_t> symbols,
                const std::function<Range(int input)> &input) {
  std::vector<Range> ranges(expression.nodes.size());
  int inputs = 0;
  for (size_t i = 0; i < expression.nodes.size(); ++i) {
    const Node &node = expression.nodes[i];
    auto operand = [&](size_t which) {
      return which < node.inputs.size() ? ranges[node.inputs[which]] : Range::of(0);
    };
    if (node.op == Op::Input)
      ranges[i] = input(inputs++);
    else if (auto number = literalNumber(node))
      ranges[i] = Range::of(*number);
    else if (node.op == Op::Cell && node.inputs.size() < 3)
      ranges[i] = ofCells(node.cell, operand(0), operand(1));
    else if (node.op == Op::Cell) { // ifelse
      Range yes = operand(1), no = operand(2);
      ranges[i] = {std::min(yes.low, no.low), std::max(yes.high, no.high), yes.nan || no.nan};
    } else if (node.op == Op::MatMul) {
      const Known &left = expression.nodes[node.inputs[0]].known;
      ranges[i] =
          ofProduct(operand(0), operand(1), node.transposeLeft ? left.rows : left.cols, symbols);
    } else if (node.op == Op::Aggregate)
      ranges[i] = operand(0); // a sum of zeros
  }
  return ranges.back().isZero();
}

static Range rangeOf(const Value &value) {
  if (value.sparse())
    return Range::of(0);
  if (!value.matrix())
    return Range::of(value.number("*"));
  double low = aggregate(AggregateKind::Min, Extent::All, *value.matrix()).number("*");
  double high = aggregate(AggregateKind::Max, Extent::All, *value.matrix()).number("*");
  return {low, high, std::isnan(low)};
}

Value whereZerosStay(const Node &node, std::span<const int64_t> symbols,
                     std::vector<Value> &operands, HostContext &context) {
  const Dag &whole = *node.whole;
  if (keepsZeros(whole, symbols, [&](int input) { return rangeOf(operands[input + 1]); }))
    return std::move(operands[0]);
  std::vector<Value> values(whole.nodes.size());
  size_t next = 1;
  for (size_t i = 0; i < whole.nodes.size(); ++i) {
    const Node &part = whole.nodes[i];
    if (part.op == Op::Input) {
      values[i] = operands[next++];
      continue;
    }
    std::vector<Value> inputs;
    for (int input : part.inputs)
      inputs.push_back(values[input]);
    values[i] = evaluate(part, symbols, std::move(inputs), context);
  }
  return std::move(values.back());
}

} // namespace headrace::script
