// Reference evaluation of softmax and the normalizations.
#include "dialect/reference/Reference.h"

#include <cmath>

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

/// Softmax of `count` numbers that lie `step` apart. The maximum is taken off first, so that no
/// exponential overflows.
static void softmaxLine(const double *in, double *out, int64_t count, int64_t step, bool log) {
  double maximum = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < count; ++i)
    maximum = std::max(maximum, in[i * step]);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += std::exp(in[i * step] - maximum);
  for (int64_t i = 0; i < count; ++i) {
    double shifted = in[i * step] - maximum;
    out[i * step] = log ? shifted - std::log(sum) : std::exp(shifted) / sum;
  }
}

Tensor SoftmaxOp::evaluate(Tensors inputs, Sizes) {
  const Tensor &input = inputs[0];
  Tensor result = Tensor::allocate(DType::F64, input.shape());
  Sizes shape = input.shape();
  int64_t count = shape[getAxis()];
  int64_t outer = product(shape.take_front(getAxis()));
  int64_t inner = product(shape.drop_front(getAxis() + 1));
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j = 0; j < inner; ++j) {
      int64_t first = i * count * inner + j;
      softmaxLine(input.as<double>() + first, result.as<double>() + first, count, inner, getLog());
    }
  return result;
}

/// Mean 0 and variance 1 in two passes: E[x^2] - E[x]^2 would cancel.
static void normalizeLine(const double *in, double *out, int64_t count, double epsilon) {
  double mean = std::accumulate(in, in + count, 0.0) / static_cast<double>(count);
  double squares = 0;
  for (int64_t i = 0; i < count; ++i)
    squares += (in[i] - mean) * (in[i] - mean);
  double deviation = std::sqrt(squares / static_cast<double>(count) + epsilon);
  for (int64_t i = 0; i < count; ++i)
    out[i] = (in[i] - mean) / deviation;
}

Tensor LayerNormOp::evaluate(Tensors inputs, Sizes) {
  const Tensor &input = inputs[0];
  Tensor result = Tensor::allocate(DType::F64, input.shape());
  Tensor scale = broadcastTo(inputs[1], input.shape());
  Tensor bias = getBias() ? broadcastTo(inputs[2], input.shape()) : Tensor();
  Sizes shape = input.shape();
  int64_t lines = product(shape.take_front(getAxis()));
  int64_t count = product(shape.drop_front(getAxis()));
  double *out = result.as<double>();
  for (int64_t i = 0; i < lines; ++i)
    normalizeLine(input.as<double>() + i * count, out + i * count, count,
                  getEpsilon().convertToDouble());
  for (int64_t i = 0; i < result.elements(); ++i)
    out[i] = out[i] * scale.as<double>()[i] + (bias ? bias.as<double>()[i] : 0.0);
  return result;
}

Tensor BatchNormOp::evaluate(Tensors inputs, Sizes) {
  const Tensor &input = inputs[0];
  const double *scale = inputs[1].as<double>(), *bias = inputs[2].as<double>();
  const double *mean = inputs[3].as<double>(), *variance = inputs[4].as<double>();
  Tensor result = Tensor::allocate(DType::F64, input.shape());
  Sizes shape = input.shape();
  size_t channelAxis = getLayout() == ChannelLayout::First ? 1 : shape.size() - 1;
  int64_t channels = shape[channelAxis], inner = product(shape.drop_front(channelAxis + 1));
  const double *in = input.as<double>();
  double *out = result.as<double>();
  for (int64_t outer = product(shape.take_front(channelAxis)); outer > 0; --outer)
    for (int64_t c = 0; c < channels; ++c) {
      double deviation = std::sqrt(variance[c] + getEpsilon().convertToDouble());
      for (int64_t i = 0; i < inner; ++i)
        *out++ = (*in++ - mean[c]) / deviation * scale[c] + bias[c];
    }
  return result;
}

} // namespace headrace::hr
