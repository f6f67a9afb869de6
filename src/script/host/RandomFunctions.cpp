// Random matrices and samples, drawn as SystemDS draws them: a stream of its own for every block of
// 1000 x 1000 cells, so that results do not depend on the number of threads.
#include "script/host/HostFunctions.h"
#include "script/host/RandomStreams.h"
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>

namespace headrace::script {

namespace {

constexpr int64_t kBlock = 1000;

/// Standard normal values, two from each pair of uniform ones (Box and Muller).
class NormalStream {
public:
  explicit NormalStream(int64_t seed) : uniform_(seed) { draw(); }
  double next() {
    second_ = !second_;
    if (second_)
      return first;
    double result = second;
    draw();
    return result;
  }

private:
  void draw() {
    double a = uniform_.uniform(), b = uniform_.uniform();
    double radius = std::sqrt(-2 * std::log(a)), angle = 2 * std::numbers::pi * b;
    first = radius * std::cos(angle);
    second = radius * std::sin(angle);
  }
  LinearStream uniform_;
  double first = 0, second = 0;
  bool second_ = false;
};

/// Counts of events: how many uniform factors keep a product above exp(-mean). A large mean, whose
/// exponential would underflow, is the sum of small ones.
class PoissonStream {
public:
  PoissonStream(int64_t seed, double mean) : uniform_(seed), mean(mean) {}
  double next() {
    double count = 0;
    for (double left = mean; left > 0; left -= kLargest)
      count += part(std::min(left, kLargest));
    return count;
  }

private:
  static constexpr double kLargest = 39.5;
  double part(double mean) {
    double least = std::exp(-mean), product = 1, count = 0;
    while (count < 1000 * mean) {
      product *= uniform_.uniform();
      if (product < least)
        break;
      ++count;
    }
    return count;
  }
  WellStream uniform_;
  double mean;
};

struct UniformStream : LinearStream {
  using LinearStream::LinearStream;
  double next() { return uniform(); }
};

struct RandomMatrix {
  int64_t rows, cols;
  double least = 0, range = 1; // of uniform values
  double share = 1;            // of cells that are not 0
};

/// Whether SystemDS keeps a block in its sparse format, by its estimates of memory. The format
/// decides how the positions of values are drawn.
bool drawsGaps(int64_t rows, int64_t cols, double share) {
  double cells = static_cast<double>(rows) * static_cast<double>(cols);
  double density =
      std::trunc(share * cells) / static_cast<double>(rows) / static_cast<double>(cols);
  if (!(share < 1 && density < 0.4 && cols > 1))
    return false;
  double nonzeros = std::ceil(density * cells);
  double filledRows = std::min(static_cast<double>(rows), nonzeros);
  double perRow = std::max(4.0, filledRows > 0 ? nonzeros / filledRows : 0);
  double sparse = 48 + 8 * static_cast<double>(rows) + filledRows * (88 + std::trunc(12 * perRow));
  return (density == 0 ? 0 : sparse) < 96 + 8 * cells;
}

/// Calls take(row, column, value) for the cells of a block that are not 0, row by row.
template <class Stream, class Take>
void drawBlock(const RandomMatrix &matrix, int64_t rows, int64_t cols, Stream values, Take take) {
  double positionSeed = values.next() * 0x1p63;
  // Saturated as Java converts.
  LinearStream positions(positionSeed >= 0x1p63    ? INT64_MAX
                         : positionSeed <= -0x1p63 ? INT64_MIN
                                                   : static_cast<int64_t>(positionSeed));
  auto value = [&] { return matrix.least + matrix.range * values.next(); };
  if (drawsGaps(rows, cols, matrix.share)) {
    double decay = std::log(1 - matrix.share);
    double cells = static_cast<double>(rows * cols);
    for (double at = 0; at < cells;) {
      at += std::ceil(std::log(positions.uniform()) / decay);
      if (!(at <= cells))
        break;
      // A draw of exactly 1 - 2^-53 or above leaves no gap; the first cell is meant.
      int64_t cell = std::max<int64_t>(static_cast<int64_t>(at) - 1, 0);
      take(cell / cols, cell % cols, value());
    }
    return;
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      if (matrix.share == 1 || positions.uniform() <= matrix.share)
        take(i, j, value());
}

struct Cells {
  std::vector<int64_t> rows, cols;
  std::vector<double> values;
};

Matrix gathered(const RandomMatrix &matrix, std::vector<Cells> &bands) {
  Cells all;
  for (Cells &band : bands) {
    all.rows.insert(all.rows.end(), band.rows.begin(), band.rows.end());
    all.cols.insert(all.cols.end(), band.cols.begin(), band.cols.end());
    all.values.insert(all.values.end(), band.values.begin(), band.values.end());
    band = {};
  }
  return inPreferredFormat(
      CsrMatrix::fromCells(matrix.rows, matrix.cols, all.rows, all.cols, all.values));
}

/// `stream`: makes the stream of a block from its seed.
template <class MakeStream>
Value drawn(const RandomMatrix &matrix, int64_t seed, MakeStream stream) {
  int64_t bandCount = (matrix.rows + kBlock - 1) / kBlock;
  int64_t blockCount = (matrix.cols + kBlock - 1) / kBlock;
  LinearStream first(seed);
  std::array<int32_t, 32> words;
  std::ranges::generate(words, [&] { return first.bits(32); });
  WellStream seeds(words);
  std::vector<int64_t> blockSeeds(bandCount * blockCount);
  std::ranges::generate(blockSeeds, [&] { return seeds.whole(); });

  std::vector<Cells> bands(matrix.share < 1 ? bandCount : 0);
  Tensor result = matrix.share < 1 ? Tensor() : newMatrix(matrix.rows, matrix.cols);
  double *out = matrix.share < 1 ? nullptr : result.template as<double>();
  auto drawBlocks = [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      int64_t band = at / blockCount, block = at % blockCount;
      int64_t row = band * kBlock, col = block * kBlock;
      drawBlock(matrix, std::min(kBlock, matrix.rows - row), std::min(kBlock, matrix.cols - col),
                stream(blockSeeds[at]), [&](int64_t i, int64_t j, double value) {
                  if (out) {
                    out[(row + i) * matrix.cols + col + j] = value;
                    return;
                  }
                  bands[band].rows.push_back(row + i);
                  bands[band].cols.push_back(col + j);
                  bands[band].values.push_back(value);
                });
    }
  };
  ThreadPool &pool = ThreadPool::global();
  if (out)
    pool.parallelFor(bandCount * blockCount, 1,
                     [&](int64_t begin, int64_t end, int) { drawBlocks(begin, end); });
  else
    pool.parallelFor(bandCount, 1, [&](int64_t begin, int64_t end, int) {
      drawBlocks(begin * blockCount, end * blockCount);
    });
  return out ? Value(result) : Value(gathered(matrix, bands));
}

/// The seed given, or the next of the run.
int64_t seedOf(const HostCall &call, size_t argument) {
  int64_t given = call.whole(argument, -1);
  return given == -1 ? -call.context.nextSeed++ : given;
}

/// rand(rows, cols, min, max, pdf, sparsity, seed, lambda)
Value rand(HostCall &call) {
  RandomMatrix matrix{call.size(0, 1), call.size(1, 1)};
  std::string pdf = call.text(4, "uniform");
  if (pdf != "uniform" && pdf != "normal" && pdf != "poisson")
    call.fail("expected the pdf \"uniform\", \"normal\" or \"poisson\", got \"" + pdf + "\"");
  matrix.share = call.number(5, 1);
  if (!(matrix.share >= 0 && matrix.share <= 1))
    call.fail("expected a sparsity between 0 and 1, got " + numberText(matrix.share));
  checkSparseSize(call, static_cast<double>(matrix.rows), static_cast<double>(matrix.cols),
                  matrix.share);
  int64_t seed = seedOf(call, 6);
  double least = call.number(2, 0), most = call.number(3, 1);
  bool uniform = pdf == "uniform";
  bool zeros = matrix.share == 0 || (uniform && least == 0 && most == 0);
  if (matrix.share < 1 && (zeros || matrix.rows == 0 || matrix.cols == 0))
    return inPreferredFormat(CsrMatrix::fromCells(matrix.rows, matrix.cols, {}, {}, {}));
  if (uniform && matrix.share == 1 && (least == most || (std::isnan(least) && std::isnan(most))))
    return filled(least, matrix.rows, matrix.cols);
  if (uniform) {
    matrix.least = least;
    matrix.range = most - least;
    return drawn(matrix, seed, [](int64_t block) { return UniformStream(block); });
  }
  if (pdf == "normal")
    return drawn(matrix, seed, [](int64_t block) { return NormalStream(block); });
  double mean = call.number(7, 1);
  if (!(mean > 0 && mean < 1e6))
    call.fail("expected a lambda above 0 and below 1000000, got " + numberText(mean));
  return drawn(matrix, seed, [&](int64_t block) { return PoissonStream(block, mean); });
}

void sampleWithoutReplacement(int64_t range, std::span<double> result, LinearStream &stream) {
  auto size = static_cast<int32_t>(result.size());
  std::iota(result.begin(), result.end(), 1.0);
  for (int64_t i = int64_t(size) + 1; i <= range; ++i)
    if (stream.below(static_cast<int32_t>(i)) < size)
      result[stream.below(size)] = static_cast<double>(i);
  for (int32_t i = 0; i + 1 < size; ++i)
    std::swap(result[i], result[i + stream.below(size - i)]);
}

/// sample(range, size, replace, seed), sample(range, size, seed): numbers from 1 to range
Value sample(HostCall &call) {
  int64_t range = call.whole(0, 1), size = call.whole(1, 1);
  // A number as the third argument is the seed.
  bool seedThird = call.given(2) && !call.arguments[2].as<bool>() && !call.given(3);
  bool replace = !seedThird && call.truth(2, false);
  int64_t most = replace ? int64_t(1) << 53 : INT32_MAX;
  if (range < 1 || range > most)
    call.fail("expected a range of 1 to " + std::to_string(most) + " numbers, got " +
              std::to_string(range));
  if (size < 1 || (!replace && size > range))
    call.fail("expected " + std::string(replace ? "1 or more" : "1 to " + std::to_string(range)) +
              " numbers to draw, got " + std::to_string(size));
  call.checkSize(static_cast<double>(size), 1);
  LinearStream stream(seedOf(call, seedThird ? 2 : 3));
  Tensor result = newMatrix(size, 1);
  std::span cells(result.as<double>(), static_cast<size_t>(size));
  if (replace)
    std::ranges::generate(cells, [&] { return static_cast<double>(1 + stream.below(range)); });
  else
    sampleWithoutReplacement(range, cells, stream);
  return result;
}

} // namespace

const HostTable &randomFunctions() {
  static const HostTable functions = {{"rand", rand}, {"sample", sample}};
  return functions;
}

} // namespace headrace::script
