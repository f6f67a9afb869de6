// Layers of neural networks on images: pooling, biases and normalization of channels.
#include "script/host/Windows.h"
#include <cmath>
#include <limits>

namespace headrace::script {

namespace {

// --- Pooling -----------------------------------------------------------------------------------

/// Calls body(image, channel) for all of them.
template <class Body> void forEachChannel(const Windows &windows, Body body) {
  ThreadPool::global().parallelFor(windows.images * windows.channels, 1,
                                   [&](int64_t begin, int64_t end, int) {
                                     for (int64_t at = begin; at < end; ++at)
                                       body(at / windows.channels, at % windows.channels);
                                   });
}

/// The sum or the largest cell of every window. The padding is 0 in sums, and never the largest.
template <bool largest> Value pool(HostCall &call) {
  Windows windows = windowsOf(call, /*convolution=*/false);
  int64_t results = windows.channels * windows.places();
  Tensor images = cellsOfSize(call, 0, windows.images, windows.imageCells());
  Tensor result = newMatrix(windows.images, results);
  auto share = 1 / static_cast<double>(windows.windowHeight * windows.windowWidth);
  forEachChannel(windows, [&](int64_t n, int64_t channel) {
    const double *image = images.as<double>() + n * windows.imageCells();
    double *out = result.as<double>() + n * results + channel * windows.places();
    for (int64_t place = 0; place < windows.places(); ++place) {
      double value = largest ? -std::numeric_limits<double>::infinity() : 0;
      windows.forEachCell(channel, place, [&](int64_t, int64_t cell) {
        value = largest ? std::max(value, image[cell]) : value + image[cell];
      });
      out[place] = largest ? value : value * share;
    }
  });
  return result;
}

/// The gradient of a window's sum is shared by its cells; that of its largest cell goes to the
/// first such cell.
template <bool largest> Value poolGradient(HostCall &call) {
  Windows windows = windowsOf(call, /*convolution=*/false);
  int64_t results = windows.channels * windows.places();
  Tensor images = cellsOfSize(call, 0, windows.images, windows.imageCells());
  Tensor gradient = cellsOfSize(call, 1, windows.images, results);
  Tensor result = filled(0, windows.images, windows.imageCells());
  auto share = 1 / static_cast<double>(windows.windowHeight * windows.windowWidth);
  forEachChannel(windows, [&](int64_t n, int64_t channel) {
    const double *image = images.as<double>() + n * windows.imageCells();
    const double *in = gradient.as<double>() + n * results + channel * windows.places();
    double *out = result.as<double>() + n * windows.imageCells();
    for (int64_t place = 0; place < windows.places(); ++place) {
      int64_t best = -1;
      windows.forEachCell(channel, place, [&](int64_t, int64_t cell) {
        if (!largest)
          out[cell] += in[place] * share;
        else if (best < 0 || image[cell] > image[best])
          best = cell;
      });
      if (largest && best >= 0)
        out[best] += in[place];
    }
  });
  return result;
}

// --- Channels ----------------------------------------------------------------------------------

/// Rows of channels next to one another, `cells` each.
struct Channels {
  int64_t rows, channels, cells;

  template <class Body> void forEach(Body body) const {
    for (int64_t n = 0; n < rows; ++n)
      for (int64_t channel = 0; channel < channels; ++channel)
        for (int64_t i = 0; i < cells; ++i)
          body(channel, (n * channels + channel) * cells + i);
  }
};

/// `column`: the argument with a row for every channel.
Channels channelsOf(const HostCall &call, size_t column) {
  const Matrix &x = call.matrix(0), &each = call.matrix(column);
  int64_t channels = rowsOf(each);
  if (colsOf(each) != 1 || channels == 0 || colsOf(x) % channels != 0)
    call.fail("expected a column whose length divides the columns of " +
                  describe(call.arguments[0]) + ", got " + describe(call.arguments[column]),
              ErrorKind::ShapeMismatch);
  return {rowsOf(x), channels, colsOf(x) / channels};
}

/// bias_add and bias_multiply(input, bias)
Value bias(HostCall &call) {
  Channels channels = channelsOf(call, 1);
  Tensor each = call.dense(1);
  Tensor x = writable(call.arguments[0], call.name());
  double *cells = x.as<double>();
  const double *values = each.as<double>();
  if (call.node.name == "bias_add")
    channels.forEach([&](int64_t channel, int64_t at) { cells[at] += values[channel]; });
  else
    channels.forEach([&](int64_t channel, int64_t at) { cells[at] *= values[channel]; });
  return x;
}

Value listOf(std::initializer_list<Tensor> tensors) {
  List list;
  for (const Tensor &tensor : tensors)
    list.entries.emplace_back("", tensor);
  return std::make_shared<const List>(std::move(list));
}

/// The mean of every channel, and of the squares of the distances to it.
struct Moments {
  std::vector<double> means, variances;
  Moments(const Channels &channels, const double *x)
      : means(channels.channels), variances(channels.channels) {
    double share = 1 / static_cast<double>(channels.rows * channels.cells);
    channels.forEach([&](int64_t channel, int64_t at) { means[channel] += x[at] * share; });
    channels.forEach([&](int64_t channel, int64_t at) {
      variances[channel] += (x[at] - means[channel]) * (x[at] - means[channel]) * share;
    });
  }
};

/// batch_norm2d(x, gamma, beta, ema_mean, ema_var, mode, epsilon, mu)
///   = [result, ema_mean, ema_var, mean, 1 / standard deviation]
Value normalize(HostCall &call) {
  Channels channels = channelsOf(call, 1);
  std::string mode = call.text(5, "train");
  if (mode != "train" && mode != "test")
    call.fail("expected the mode \"train\" or \"test\", got \"" + mode + "\"");
  double epsilon = call.number(6, 1e-5), decay = call.number(7, 0.9);
  int64_t count = channels.channels;
  Tensor x = call.dense(0), gamma = call.dense(1), beta = cellsOfSize(call, 2, count, 1);
  Tensor oldMean = cellsOfSize(call, 3, count, 1), oldVariance = cellsOfSize(call, 4, count, 1);
  Tensor result = newMatrix(x.shape()[0], x.shape()[1]);
  Tensor newMean = newMatrix(count, 1), newVariance = newMatrix(count, 1);
  Tensor mean = newMatrix(count, 1), inverse = newMatrix(count, 1);
  Moments moments(channels, x.as<double>());
  for (int64_t c = 0; c < count; ++c) {
    double before = oldMean.as<double>()[c], spread = oldVariance.as<double>()[c];
    bool trains = mode == "train";
    mean.as<double>()[c] = trains ? moments.means[c] : before;
    inverse.as<double>()[c] = 1 / std::sqrt((trains ? moments.variances[c] : spread) + epsilon);
    newMean.as<double>()[c] = trains ? decay * before + (1 - decay) * moments.means[c] : before;
    newVariance.as<double>()[c] =
        trains ? decay * spread + (1 - decay) * moments.variances[c] : spread;
  }
  channels.forEach([&](int64_t c, int64_t at) {
    result.as<double>()[at] = (x.as<double>()[at] - mean.as<double>()[c]) *
                                  inverse.as<double>()[c] * gamma.as<double>()[c] +
                              beta.as<double>()[c];
  });
  return listOf({result, newMean, newVariance, mean, inverse});
}

/// batch_norm2d_backward(x, dout, gamma, epsilon, mean, inv_var) = [dx, dgamma, dbeta]
Value normalizeGradient(HostCall &call) {
  Channels channels = channelsOf(call, 2);
  int64_t count = channels.channels;
  Tensor x = call.dense(0), dout = cellsOfSize(call, 1, x.shape()[0], x.shape()[1]);
  Tensor gamma = call.dense(2), mean = cellsOfSize(call, 4, count, 1);
  Tensor inverse = cellsOfSize(call, 5, count, 1);
  Tensor result = newMatrix(x.shape()[0], x.shape()[1]);
  Tensor dGamma = filled(0, count, 1), dBeta = filled(0, count, 1);
  auto normalized = [&](int64_t c, int64_t at) {
    return (x.as<double>()[at] - mean.as<double>()[c]) * inverse.as<double>()[c];
  };
  channels.forEach([&](int64_t c, int64_t at) {
    dBeta.as<double>()[c] += dout.as<double>()[at];
    dGamma.as<double>()[c] += dout.as<double>()[at] * normalized(c, at);
  });
  // The mean need not be that of x.
  std::vector<double> centers(count);
  channels.forEach([&](int64_t c, int64_t at) { centers[c] += normalized(c, at); });
  double share = 1 / static_cast<double>(channels.rows * channels.cells);
  channels.forEach([&](int64_t c, int64_t at) {
    double ofVariance = share * dGamma.as<double>()[c];
    double own = dout.as<double>()[at] - share * dBeta.as<double>()[c] -
                 ofVariance * (normalized(c, at) - share * centers[c]);
    result.as<double>()[at] = gamma.as<double>()[c] * inverse.as<double>()[c] * own;
  });
  return listOf({result, dGamma, dBeta});
}

} // namespace

const HostTable &neuralFunctions() {
  static const HostTable table = {{"max_pool", pool<true>},
                                  {"avg_pool", pool<false>},
                                  {"max_pool_backward", poolGradient<true>},
                                  {"avg_pool_backward", poolGradient<false>},
                                  {"bias_add", bias},
                                  {"bias_multiply", bias},
                                  {"batch_norm2d", normalize},
                                  {"batch_norm2d_backward", normalizeGradient}};
  return table;
}

} // namespace headrace::script
