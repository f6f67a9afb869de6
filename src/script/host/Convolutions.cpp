// Convolutions as products: the windows of an image next to one another are a matrix.
#include "runtime/library/OpenBlas.h"

#include "script/host/Windows.h"
#include <algorithm>

namespace headrace::script {

namespace {

/// c = op(a) op(b), or c += op(a) op(b), on this thread.
struct SmallProduct {
  int64_t m, n, k;
  bool transposeA = false, transposeB = false, adds = false;

  void operator()(const double *a, const double *b, double *c) const {
    auto text = [](bool transposed) { return transposed ? blas::Transposed : blas::Plain; };
    auto size = [](int64_t x) { return static_cast<int>(std::max<int64_t>(x, 1)); };
    if (const OpenBlas *library = openBlas(); library && m > 0 && n > 0 && k > 0) {
      library->f64.gemm(blas::RowMajor, text(transposeA), text(transposeB), size(m), size(n),
                        size(k), 1, a, size(transposeA ? m : k), b, size(transposeB ? k : n),
                        adds ? 1 : 0, c, size(n));
      return;
    }
    if (!adds)
      std::fill_n(c, m * n, 0.0);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t p = 0; p < k; ++p)
        for (int64_t j = 0; j < n; ++j)
          c[i * n + j] +=
              a[transposeA ? p * m + i : i * k + p] * b[transposeB ? j * k + p : p * n + j];
  }
};

/// The windows of an image: a row for every cell of the window, a column for every place.
void spread(const Windows &windows, const double *image, std::vector<double> &columns) {
  columns.assign(static_cast<size_t>(windows.windowCells() * windows.places()), 0);
  for (int64_t channel = 0; channel < windows.channels; ++channel)
    for (int64_t place = 0; place < windows.places(); ++place)
      windows.forEachCell(channel, place, [&](int64_t windowCell, int64_t imageCell) {
        columns[windowCell * windows.places() + place] = image[imageCell];
      });
}

/// Adds the windows up where they came from.
void collect(const Windows &windows, const std::vector<double> &columns, double *image) {
  std::fill_n(image, windows.imageCells(), 0.0);
  for (int64_t channel = 0; channel < windows.channels; ++channel)
    for (int64_t place = 0; place < windows.places(); ++place)
      windows.forEachCell(channel, place, [&](int64_t windowCell, int64_t imageCell) {
        image[imageCell] += columns[windowCell * windows.places() + place];
      });
}

/// conv2d(input, filter, ...)
Value convolve(HostCall &call) {
  Windows windows = windowsOf(call, /*convolution=*/true);
  int64_t results = windows.filters * windows.places();
  Tensor images = cellsOfSize(call, 0, windows.images, windows.imageCells());
  Tensor filter = cellsOfSize(call, 1, windows.filters, windows.windowCells());
  Tensor result = newMatrix(windows.images, results);
  SmallProduct product{windows.filters, windows.places(), windows.windowCells()};
  ThreadPool::global().parallelFor(windows.images, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<double> columns;
    for (int64_t n = begin; n < end; ++n) {
      spread(windows, images.as<double>() + n * windows.imageCells(), columns);
      product(filter.as<double>(), columns.data(), result.as<double>() + n * results);
    }
  });
  return result;
}

/// conv2d_backward_filter(input, dout, ...)
Value filterGradient(HostCall &call) {
  Windows windows = windowsOf(call, /*convolution=*/true);
  int64_t results = windows.filters * windows.places();
  int64_t cells = windows.filters * windows.windowCells();
  Tensor images = cellsOfSize(call, 0, windows.images, windows.imageCells());
  Tensor gradient = cellsOfSize(call, 1, windows.images, results);
  // As many partial sums as the number of images says: the same for any number of threads.
  int64_t parts = std::clamp<int64_t>(windows.images, 1, 16);
  Tensor sums = filled(0, parts, cells);
  SmallProduct product{windows.filters, windows.windowCells(), windows.places(), false, true, true};
  ThreadPool::global().parallelFor(parts, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<double> columns;
    for (int64_t part = begin; part < end; ++part)
      for (int64_t n = part; n < windows.images; n += parts) {
        spread(windows, images.as<double>() + n * windows.imageCells(), columns);
        product(gradient.as<double>() + n * results, columns.data(),
                sums.as<double>() + part * cells);
      }
  });
  Tensor result = filled(0, windows.filters, windows.windowCells());
  for (int64_t part = 0; part < parts; ++part)
    for (int64_t i = 0; i < cells; ++i)
      result.as<double>()[i] += sums.as<double>()[part * cells + i];
  return result;
}

/// conv2d_backward_data(filter, dout, ...)
Value imageGradient(HostCall &call) {
  Windows windows = windowsOf(call, /*convolution=*/true);
  int64_t results = windows.filters * windows.places();
  Tensor filter = cellsOfSize(call, 0, windows.filters, windows.windowCells());
  Tensor gradient = cellsOfSize(call, 1, windows.images, results);
  Tensor result = newMatrix(windows.images, windows.imageCells());
  SmallProduct product{windows.windowCells(), windows.places(), windows.filters, true};
  ThreadPool::global().parallelFor(windows.images, 1, [&](int64_t begin, int64_t end, int) {
    std::vector<double> columns(static_cast<size_t>(windows.windowCells() * windows.places()));
    for (int64_t n = begin; n < end; ++n) {
      product(filter.as<double>(), gradient.as<double>() + n * results, columns.data());
      collect(windows, columns, result.as<double>() + n * windows.imageCells());
    }
  });
  return result;
}

} // namespace

const HostTable &convolutions() {
  static const HostTable table = {{"conv2d", convolve},
                                  {"conv2d_backward_filter", filterGradient},
                                  {"conv2d_backward_data", imageGradient}};
  return table;
}

} // namespace headrace::script
