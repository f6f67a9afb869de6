// Discrete Fourier transforms. A complex matrix is two matrices: its real and its imaginary parts.
#include "script/host/HostFunctions.h"
#include <cmath>
#include <complex>
#include <numbers>

namespace headrace::script {

namespace {

using Complex = std::complex<double>;

bool isPowerOfTwo(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

/// The transform of a length that is a power of 2, in place; the inverse one without its factor.
void transform(std::span<Complex> values, bool inverse) {
  size_t n = values.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1)
      j ^= bit;
    j ^= bit;
    if (i < j)
      std::swap(values[i], values[j]);
  }
  for (size_t length = 2; length <= n; length *= 2) {
    double angle = (inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(length);
    for (size_t k = 0; k < length / 2; ++k) {
      Complex root = std::polar(1.0, angle * static_cast<double>(k));
      for (size_t begin = 0; begin < n; begin += length) {
        Complex even = values[begin + k], odd = root * values[begin + k + length / 2];
        values[begin + k] = even + odd;
        values[begin + k + length / 2] = even - odd;
      }
    }
  }
}

/// A complex matrix, row-major.
struct ComplexMatrix {
  int64_t rows, cols;
  std::vector<Complex> cells;

  void transformRows(bool inverse) {
    for (int64_t row = 0; row < rows; ++row)
      transform(std::span(cells).subspan(row * cols, cols), inverse);
  }

  void transformColumns(bool inverse) {
    std::vector<Complex> column(rows);
    for (int64_t col = 0; col < cols; ++col) {
      for (int64_t row = 0; row < rows; ++row)
        column[row] = cells[row * cols + col];
      transform(column, inverse);
      for (int64_t row = 0; row < rows; ++row)
        cells[row * cols + col] = column[row];
    }
  }

  Value parts(double factor = 1) const {
    Tensor re = newMatrix(rows, cols), im = newMatrix(rows, cols);
    for (size_t i = 0; i < cells.size(); ++i) {
      re.as<double>()[i] = cells[i].real() * factor;
      im.as<double>()[i] = cells[i].imag() * factor;
    }
    return std::make_shared<const List>(List{{{"", re}, {"", im}}});
  }
};

/// The first argument as real parts and, if `imaginary` is given, the second as imaginary ones.
ComplexMatrix operands(const HostCall &call, bool imaginary) {
  Tensor re = call.dense(0);
  ComplexMatrix x{re.shape()[0], re.shape()[1], {re.as<double>(), re.as<double>() + re.elements()}};
  if (!imaginary)
    return x;
  Tensor im = call.dense(1);
  if (im.shape() != re.shape())
    call.fail("expected parts of equal sizes, got " + describe(call.arguments[0]) + " and " +
                  describe(call.arguments[1]),
              ErrorKind::ShapeMismatch);
  for (size_t i = 0; i < x.cells.size(); ++i)
    x.cells[i] = {x.cells[i].real(), im.as<double>()[i]};
  return x;
}

void expectPowerOfTwo(const HostCall &call, int64_t n, const char *what) {
  if (!isPowerOfTwo(n))
    call.fail("expected a power of 2 as the number of " + std::string(what) + ", got " +
              std::to_string(n));
}

/// fft(x), ifft(re, im): over both dimensions; fft_linearized, ifft_linearized: row by row
template <bool inverse, bool linearized> Value fourier(HostCall &call) {
  ComplexMatrix x = operands(call, call.given(1));
  expectPowerOfTwo(call, x.cols, "columns");
  if (!linearized)
    expectPowerOfTwo(call, x.rows, "rows");
  x.transformRows(inverse);
  if (!linearized)
    x.transformColumns(inverse);
  double count = static_cast<double>(x.cols) * (linearized ? 1.0 : static_cast<double>(x.rows));
  return x.parts(inverse ? 1 / count : 1);
}

/// stft(x, window, overlap), stft(re, im, window, overlap): the transforms of the windows of every
/// row next to one another, the last one filled up with zeros
Value shortTime(HostCall &call) {
  size_t given = call.arguments.size();
  bool complex = given > 1 && call.arguments[1].matrix();
  if (given != (complex ? 4 : 3))
    call.fail("expected (x, window, overlap) or (re, im, window, overlap)");
  int64_t window = call.whole(complex ? 2 : 1, 0), overlap = call.whole(complex ? 3 : 2, 0);
  expectPowerOfTwo(call, window, "values of a window");
  if (overlap < 0 || overlap >= window)
    call.fail("expected an overlap of 0 to " + std::to_string(window - 1) + ", got " +
              std::to_string(overlap));
  ComplexMatrix x = operands(call, complex);
  int64_t step = window - overlap;
  int64_t windows = std::max<int64_t>(0, (x.cols - overlap + step - 1) / step);
  call.checkSize(static_cast<double>(x.rows), static_cast<double>(windows * window));
  ComplexMatrix result{x.rows, windows * window, {}};
  result.cells.resize(x.rows * windows * window);
  for (int64_t row = 0; row < x.rows; ++row)
    for (int64_t i = 0; i < windows; ++i) {
      auto part = std::span(result.cells).subspan((row * windows + i) * window, window);
      for (int64_t j = 0; j < window && i * step + j < x.cols; ++j)
        part[j] = x.cells[row * x.cols + i * step + j];
      transform(part, false);
    }
  return result.parts();
}

} // namespace

const HostTable &fourierTransforms() {
  static const HostTable table = {{"fft", fourier<false, false>},
                                  {"ifft", fourier<true, false>},
                                  {"fft_linearized", fourier<false, true>},
                                  {"ifft_linearized", fourier<true, true>},
                                  {"stft", shortTime}};
  return table;
}

} // namespace headrace::script
