// Moments, covariance, and distributions by name.
#include "script/host/Distributions.h"
#include "script/host/HostFunctions.h"
#include <cmath>

namespace headrace::script {

namespace {

// --- Moments -----------------------------------------------------------------------------------

/// A column as numbers; a row is one, too.
Tensor vectorOf(const HostCall &call, size_t argument) {
  Tensor x = call.dense(argument);
  if (x.shape()[0] != 1 && x.shape()[1] != 1)
    call.fail("expected a column, got " + describe(call.arguments[argument]),
              ErrorKind::ShapeMismatch);
  return x;
}

/// The argument as weights of `count` values; ones if it was not given.
std::vector<double> weightsOf(const HostCall &call, size_t argument, int64_t count) {
  if (!call.given(argument))
    return std::vector<double>(static_cast<size_t>(count), 1.0);
  Tensor weights = vectorOf(call, argument);
  if (weights.elements() != count)
    call.fail("expected " + std::to_string(count) + " weights, got " +
                  std::to_string(weights.elements()),
              ErrorKind::ShapeMismatch);
  return {weights.as<double>(), weights.as<double>() + count};
}

struct Weighted {
  double weight = 0, mean = 0;
};

Weighted weightedMean(std::span<const double> x, std::span<const double> weights) {
  double sum = 0, weight = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    sum += weights[i] * x[i];
    weight += weights[i];
  }
  return {weight, sum / weight};
}

std::span<const double> cellsOf(const Tensor &x) {
  return {x.as<double>(), static_cast<size_t>(x.elements())};
}

/// moment(x, order), moment(x, weights, order)
Value moment(HostCall &call) {
  Tensor x = vectorOf(call, 0);
  bool weighted = call.given(2);
  std::vector<double> weights = weightsOf(call, weighted ? 1 : 2, x.elements());
  int64_t order = call.whole(weighted ? 2 : 1, 2);
  if (order < 2)
    call.fail("expected an order of 2 or more, got " + std::to_string(order));
  auto [weight, mean] = weightedMean(cellsOf(x), weights);
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i)
    sum += weights[i] * std::pow(cellsOf(x)[i] - mean, static_cast<double>(order));
  return sum / weight;
}

/// cov(x, y), cov(x, y, weights)
Value covariance(HostCall &call) {
  Tensor x = vectorOf(call, 0), y = vectorOf(call, 1);
  if (x.elements() != y.elements())
    call.fail("expected columns of equal length, got " + std::to_string(x.elements()) + " and " +
                  std::to_string(y.elements()),
              ErrorKind::ShapeMismatch);
  std::vector<double> weights = weightsOf(call, 2, x.elements());
  auto [weight, meanX] = weightedMean(cellsOf(x), weights);
  double meanY = weightedMean(cellsOf(y), weights).mean, sum = 0;
  for (size_t i = 0; i < weights.size(); ++i)
    sum += weights[i] * (cellsOf(x)[i] - meanX) * (cellsOf(y)[i] - meanY);
  return sum / (weight - 1);
}

/// mean(x, weights)
Value mean(HostCall &call) {
  Tensor x = vectorOf(call, 0);
  return weightedMean(cellsOf(x), weightsOf(call, 1, x.elements())).mean;
}

// --- Distributions -----------------------------------------------------------------------------

/// The named argument of the call, as the table of built-in functions orders them.
double positive(const HostCall &call, const char *parameter) {
  size_t at = call.parameter(parameter);
  if (!call.given(at))
    call.fail("expected the argument '" + std::string(parameter) + "'");
  double value = call.number(at, 0);
  if (!(value > 0))
    call.fail("expected '" + std::string(parameter) + "' above 0, got " + numberText(value));
  return value;
}

Distribution distributionNamed(const HostCall &call, std::string_view name) {
  using enum Distribution::Kind;
  if (name == "normal") {
    double deviation = call.number(call.parameter("sd"), 1);
    if (!(deviation > 0))
      call.fail("expected 'sd' above 0, got " + numberText(deviation));
    return {Normal, call.number(call.parameter("mean"), 0), deviation};
  }
  if (name == "exp")
    return {Exponential, call.given(call.parameter("rate")) ? positive(call, "rate") : 1, 0};
  if (name == "chisq")
    return {ChiSquared, positive(call, "df"), 0};
  if (name == "t")
    return {StudentT, positive(call, "df"), 0};
  if (name == "f")
    return {F, positive(call, "df1"), positive(call, "df2")};
  call.fail("expected the distribution \"normal\", \"exp\", \"chisq\", \"t\" or \"f\", got \"" +
            std::string(name) + "\"");
}

/// pnorm, pt, ... and qnorm, qt, ... have their distribution in their name.
Distribution distributionOf(const HostCall &call) {
  std::string_view name = call.node.name;
  if (name.ends_with("cdf"))
    return distributionNamed(call, call.text(call.parameter("dist"), "normal"));
  name.remove_prefix(1);
  return distributionNamed(call, name == "norm" ? "normal" : name);
}

Value share(HostCall &call) {
  Distribution distribution = distributionOf(call);
  double x = call.number(0, 0);
  return call.truth(call.parameter("lower.tail"), true) ? distribution.below(x)
                                                        : distribution.above(x);
}

Value quantile(HostCall &call) {
  Distribution distribution = distributionOf(call);
  double share = call.number(0, 0);
  if (!(share >= 0 && share <= 1))
    call.fail("expected a probability from 0 to 1, got " + numberText(share));
  return distribution.quantile(share, !call.truth(call.parameter("lower.tail"), true));
}

} // namespace

const HostTable &statisticsFunctions() {
  static const HostTable table = {{"moment", moment},   {"cov", covariance}, {"mean", mean},
                                  {"cdf", share},       {"pnorm", share},    {"pt", share},
                                  {"pchisq", share},    {"pf", share},       {"pexp", share},
                                  {"icdf", quantile},   {"qnorm", quantile}, {"qt", quantile},
                                  {"qchisq", quantile}, {"qf", quantile},    {"qexp", quantile}};
  return table;
}

} // namespace headrace::script
