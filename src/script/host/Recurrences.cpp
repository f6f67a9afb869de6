// Recurrent layers: LSTM and its gradient.
#include "script/host/Windows.h"
#include <algorithm>
#include <cmath>

namespace headrace::script {

namespace {

/// lstm(x, w, b, out0, c0, return_sequences): `steps` inputs of `features` values next to one
/// another in each row of x. The gates of a step are (input, out of the step before) %*% w + b, in
/// the order input, forget, output, candidate.
struct Lstm {
  int64_t rows, steps, features, units;
  Tensor x, w, b, out0, c0;

  explicit Lstm(const HostCall &call)
      : x(call.dense(0)), w(call.dense(1)), b(call.dense(2)), out0(call.dense(3)),
        c0(call.dense(4)) {
    rows = x.shape()[0];
    units = w.shape()[1] / 4;
    features = w.shape()[0] - units;
    if (units < 1 || w.shape()[1] % 4 != 0 || features < 1 || x.shape()[1] == 0 ||
        x.shape()[1] % features != 0)
      call.fail("expected weights of (features + units) x (4 * units) whose features divide the "
                "columns of " +
                    describe(call.arguments[0]) + ", got " + describe(call.arguments[1]),
                ErrorKind::ShapeMismatch);
    steps = x.shape()[1] / features;
    if (b.elements() != 4 * units)
      call.fail("expected " + std::to_string(4 * units) + " biases, got " +
                    std::to_string(b.elements()),
                ErrorKind::ShapeMismatch);
    // States of more rows than x are of a larger batch before.
    for (Tensor *state : {&out0, &c0})
      if (state->shape()[0] < rows || state->shape()[1] != units)
        call.fail("expected states of " + std::to_string(rows) + " x " + std::to_string(units) +
                      ", got " + std::to_string(state->shape()[0]) + " x " +
                      std::to_string(state->shape()[1]),
                  ErrorKind::ShapeMismatch);
  }

  /// The inputs of a step next to what the step before gave.
  Tensor stepInput(int64_t step, const double *before) const {
    Tensor input = newMatrix(rows, features + units);
    for (int64_t n = 0; n < rows; ++n) {
      double *to = input.as<double>() + n * (features + units);
      std::copy_n(x.as<double>() + (n * steps + step) * features, features, to);
      std::copy_n(before + n * units, units, to + features);
    }
    return input;
  }
};

Tensor productOf(const Tensor &a, bool transposeLeft, const Tensor &b, bool transposeRight) {
  return denseOf(product(a, transposeLeft, b, transposeRight));
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Value listOf(std::initializer_list<Tensor> tensors) {
  List list;
  for (const Tensor &tensor : tensors)
    list.entries.emplace_back("", tensor);
  return std::make_shared<const List>(std::move(list));
}

/// = [out, c, outputs, states and gates of every step]
Value lstm(HostCall &call) {
  Lstm layer(call);
  auto [rows, steps, units] = std::tuple(layer.rows, layer.steps, layer.units);
  bool all = call.truth(5, true);
  Tensor outputs = newMatrix(steps, rows * units), states = newMatrix(steps, rows * units);
  Tensor gates = newMatrix(steps, rows * 4 * units);
  const double *out = layer.out0.as<double>(), *c = layer.c0.as<double>();
  for (int64_t step = 0; step < steps; ++step) {
    Tensor sums = productOf(layer.stepInput(step, out), false, layer.w, false);
    double *gate = gates.as<double>() + step * rows * 4 * units;
    double *nextOut = outputs.as<double>() + step * rows * units;
    double *nextC = states.as<double>() + step * rows * units;
    for (int64_t n = 0; n < rows; ++n)
      for (int64_t j = 0; j < units; ++j) {
        auto at = [&](int64_t kind) { return n * 4 * units + kind * units + j; };
        for (int64_t kind = 0; kind < 4; ++kind) {
          double sum = sums.as<double>()[at(kind)] + layer.b.as<double>()[kind * units + j];
          gate[at(kind)] = kind < 3 ? sigmoid(sum) : std::tanh(sum);
        }
        int64_t cell = n * units + j;
        nextC[cell] = gate[at(1)] * c[cell] + gate[at(0)] * gate[at(3)];
        nextOut[cell] = gate[at(2)] * std::tanh(nextC[cell]);
      }
    out = nextOut;
    c = nextC;
  }
  Tensor result = newMatrix(rows, all ? steps * units : units), last = newMatrix(rows, units);
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t step = all ? 0 : steps - 1; step < steps; ++step)
      std::copy_n(outputs.as<double>() + (step * rows + n) * units, units,
                  result.as<double>() + (all ? n * steps + step : n) * units);
  std::copy_n(c, rows * units, last.as<double>());
  return listOf({result, last, outputs, states, gates});
}

/// lstm_backward(x, w, b, out0, c0, given_sequences, dout, dc, outputs, states, gates)
///   = [dx, dw, db, dout0, dc0]; without the last three they are computed again
Value lstmGradient(HostCall &call) {
  Lstm layer(call);
  auto [rows, steps, units] = std::tuple(layer.rows, layer.steps, layer.units);
  bool all = call.truth(5, true);
  Tensor dout = cellsOfSize(call, 6, rows, all ? steps * units : units);
  Tensor dState = cellsOfSize(call, 7, rows, units);
  if (call.arguments.size() < 11) {
    Value forward = lstm(call);
    const auto &entries = forward.list("lstm").entries;
    call.arguments.resize(8);
    for (size_t i = 2; i < 5; ++i)
      call.arguments.push_back(entries[i].second);
  }
  Tensor outputs = cellsOfSize(call, 8, steps, rows * units);
  Tensor states = cellsOfSize(call, 9, steps, rows * units);
  Tensor gates = cellsOfSize(call, 10, steps, rows * 4 * units);
  Tensor dx = newMatrix(rows, steps * layer.features), db = filled(0, 1, 4 * units);
  Tensor dw = filled(0, layer.w.shape()[0], 4 * units);
  Tensor dOut = filled(0, rows, units), dC = newMatrix(rows, units);
  std::copy_n(dState.as<double>(), rows * units, dC.as<double>());
  for (int64_t step = steps; step-- > 0;) {
    auto before = [&](const Tensor &each, const Tensor &first) {
      return step > 0 ? each.as<double>() + (step - 1) * rows * units : first.as<double>();
    };
    const double *outBefore = before(outputs, layer.out0), *cBefore = before(states, layer.c0);
    const double *gate = gates.as<double>() + step * rows * 4 * units;
    const double *c = states.as<double>() + step * rows * units;
    Tensor dSums = newMatrix(rows, 4 * units);
    for (int64_t n = 0; n < rows; ++n)
      for (int64_t j = 0; j < units; ++j) {
        int64_t cell = n * units + j;
        auto at = [&](int64_t kind) { return n * 4 * units + kind * units + j; };
        double given = all                 ? dout.as<double>()[(n * steps + step) * units + j]
                       : step == steps - 1 ? dout.as<double>()[cell]
                                           : 0;
        double ofOut = dOut.as<double>()[cell] + given, bounded = std::tanh(c[cell]);
        double ofC = dC.as<double>()[cell] + ofOut * gate[at(2)] * (1 - bounded * bounded);
        double *sums = dSums.as<double>();
        auto slope = [&](int64_t kind) { return gate[at(kind)] * (1 - gate[at(kind)]); };
        sums[at(0)] = ofC * gate[at(3)] * slope(0);
        sums[at(1)] = ofC * cBefore[cell] * slope(1);
        sums[at(2)] = ofOut * bounded * slope(2);
        sums[at(3)] = ofC * gate[at(0)] * (1 - gate[at(3)] * gate[at(3)]);
        dC.as<double>()[cell] = ofC * gate[at(1)];
        for (int64_t kind = 0; kind < 4; ++kind)
          db.as<double>()[kind * units + j] += sums[at(kind)];
      }
    Tensor ofWeights = productOf(layer.stepInput(step, outBefore), true, dSums, false);
    std::transform(dw.as<double>(), dw.as<double>() + dw.elements(), ofWeights.as<double>(),
                   dw.as<double>(), std::plus());
    Tensor ofInput = productOf(dSums, false, layer.w, true);
    for (int64_t n = 0; n < rows; ++n) {
      const double *from = ofInput.as<double>() + n * (layer.features + units);
      std::copy_n(from, layer.features, dx.as<double>() + (n * steps + step) * layer.features);
      std::copy_n(from + layer.features, units, dOut.as<double>() + n * units);
    }
  }
  return listOf({dx, dw, db, dOut, dC});
}

} // namespace

const HostTable &recurrentLayers() {
  static const HostTable table = {{"lstm", lstm}, {"lstm_backward", lstmGradient}};
  return table;
}

} // namespace headrace::script
