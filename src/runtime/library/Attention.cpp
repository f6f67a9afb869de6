// The online softmax: keys come in blocks, and with each block a query keeps its greatest score so
// far, the sum of exponentials relative to it, and the values mixed by them. If the greatest
// score grows, what is there is scaled down.
#include "runtime/library/Attention.h"

#include "runtime/library/OpenBlas.h"
#include "runtime/library/VectorExponential.h"
#include "runtime/system/Error.h"
#include "runtime/system/Rounding.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

namespace headrace {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Blocks of scores that stay in a core's own cache (256 kB), and large enough that packing keys
/// and values for each of them takes little of the time.
constexpr int64_t usualQueries = 128, usualKeys = 512;
constexpr int64_t maxScores = 1 << 20; // in memory of each thread

int64_t queriesAtOnce(const Attention &sizes) {
  return sizes.queryBlock ? sizes.queryBlock : usualQueries;
}
int64_t keysAtOnce(const Attention &sizes) { return sizes.keyBlock ? sizes.keyBlock : usualKeys; }

int narrow(int64_t size) { return static_cast<int>(size); }

/// A block of queries of one head.
class Block {
public:
  Block(const Attention &sizes, const float *query, const float *key, const float *value,
        const float *bias, float *result)
      : sizes(sizes), query(query), key(key), value(value), bias(bias), result(result),
        queriesAtOnce(headrace::queriesAtOnce(sizes)), keysAtOnce(headrace::keysAtOnce(sizes)),
        scores(std::make_unique_for_overwrite<float[]>(queriesAtOnce * keysAtOnce)),
        greatest(queriesAtOnce), sums(queriesAtOnce) {}

  void run(int64_t batch, int64_t head, int64_t first) {
    auto begin = [&](const Attention::Rows &rows) { return batch * rows.batch + head * rows.head; };
    int64_t rows = std::min(queriesAtOnce, sizes.queries - first);
    const float *q = query + begin(sizes.query) + first * sizes.query.row;
    const float *k = key + begin(sizes.key), *v = value + begin(sizes.value);
    float *out = result + begin(sizes.result) + first * sizes.result.row;
    const float *added =
        bias ? bias + batch * sizes.bias.batch + head * sizes.bias.head + first * sizes.bias.row
             : nullptr;
    std::fill_n(greatest.begin(), rows, -infinity);
    std::fill_n(sums.begin(), rows, 0.0F);
    for (int64_t row = 0; row < rows; ++row)
      std::fill_n(out + row * sizes.result.row, sizes.width, 0.0F);
    int64_t seen = sizes.causal ? std::min(sizes.keys, first + rows) : sizes.keys;
    for (int64_t column = 0; column < seen; column += keysAtOnce) {
      int64_t columns = std::min(keysAtOnce, seen - column);
      score(q, k + column * sizes.key.row, rows, columns);
      for (int64_t row = 0; row < rows; ++row) {
        float *line = scores.get() + row * keysAtOnce;
        if (added)
          add(line, added + row * sizes.bias.row + column * sizes.bias.column, columns);
        if (int64_t visible = first + row + 1 - column; sizes.causal && visible < columns)
          std::fill(line + std::max<int64_t>(visible, 0), line + columns, -infinity);
        weigh(line, columns, row, out + row * sizes.result.row);
      }
      mix(v + column * sizes.value.row, out, rows, columns);
    }
    for (int64_t row = 0; row < rows; ++row)
      finish(out + row * sizes.result.row, sums[row]);
  }

private:
  void score(const float *q, const float *k, int64_t rows, int64_t columns) {
    openBlas()->f32.gemm(blas::RowMajor, blas::Plain, blas::Transposed, narrow(rows),
                         narrow(columns), narrow(sizes.depth), static_cast<float>(sizes.scale), q,
                         leading(sizes.query, sizes.depth), k, leading(sizes.key, sizes.depth), 0,
                         scores.get(), narrow(keysAtOnce));
  }

  void mix(const float *v, float *out, int64_t rows, int64_t columns) {
    openBlas()->f32.gemm(blas::RowMajor, blas::Plain, blas::Plain, narrow(rows),
                         narrow(sizes.width), narrow(columns), 1, scores.get(), narrow(keysAtOnce),
                         v, leading(sizes.value, sizes.width), 1, out,
                         leading(sizes.result, sizes.width));
  }

  /// A single row may state any distance to the next; BLAS checks it all the same.
  static int leading(const Attention::Rows &rows, int64_t columns) {
    return narrow(std::max({rows.row, columns, int64_t{1}}));
  }

  void add(float *line, const float *other, int64_t columns) const {
    for (int64_t i = 0; i < columns; ++i)
      line[i] += other[i * sizes.bias.column];
  }

  /// Scores become weights relative to the greatest so far.
  void weigh(float *line, int64_t columns, int64_t row, float *out) {
    float before = greatest[row], now = std::max(before, greatestOf(line, columns));
    // Nothing seen yet: exponentials of -inf are 0 whatever they are relative to, and NaN stays.
    float sum = exponentials(line, columns, now == -infinity ? 0.0F : now);
    float factor = before == now ? 1.0F : std::exp(before - now);
    greatest[row] = now;
    sums[row] = sums[row] * factor + sum;
    if (factor != 1.0F)
      for (int64_t i = 0; i < sizes.width; ++i)
        out[i] *= factor;
  }

  void finish(float *out, float sum) const {
    if (sum == 0 && sizes.zeroMasked)
      return;
    float factor = sizes.keys == 0 ? 0.0F : 1 / sum;
    for (int64_t i = 0; i < sizes.width; ++i)
      out[i] *= factor; // 0 * inf is NaN, as it should be
  }

  const Attention &sizes;
  const float *query, *key, *value, *bias;
  float *result;
  const int64_t queriesAtOnce, keysAtOnce;
  std::unique_ptr<float[]> scores;
  std::vector<float> greatest, sums;
};

constexpr size_t scaleAt = 8; // among the parameters

Attention read(std::span<const int64_t> parameters) {
  auto next = [at = parameters.begin()]() mutable { return *at++; };
  Attention a;
  for (int64_t *size :
       {&a.batch, &a.heads, &a.queries, &a.keys, &a.depth, &a.width, &a.causal, &a.zeroMasked})
    *size = next();
  a.scale = std::bit_cast<double>(next());
  for (Attention::Rows *rows : {&a.query, &a.key, &a.value}) {
    rows->batch = next();
    rows->head = next();
    rows->row = next();
  }
  for (int64_t *stride : {&a.bias.batch, &a.bias.head, &a.bias.row, &a.bias.column, &a.result.batch,
                          &a.result.head, &a.result.row})
    *stride = next();
  if (parameters.size() == Attention::parameters + Attention::blockParameters) {
    a.queryBlock = next();
    a.keyBlock = next();
  }
  return a;
}

} // namespace

void attend(const Attention &sizes, const float *query, const float *key, const float *value,
            const float *bias, float *result, ThreadPool &pool) {
  int64_t rows = queriesAtOnce(sizes), blocks = dividedUp(sizes.queries, rows);
  int64_t heads = sizes.heads;
  if (sizes.width == 0)
    return;
  pool.parallelFor(sizes.batch * heads * blocks, 1, [&](int64_t begin, int64_t end, int) {
    Block block(sizes, query, key, value, bias, result);
    for (int64_t i = begin; i < end; ++i)
      block.run(i / blocks / heads, i / blocks % heads, i % blocks * rows);
  });
}

void runAttentionStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                      ThreadPool &pool) {
  if (step.operands.size() < 4 || step.operands.size() > 5 ||
      (parameters.size() != Attention::parameters &&
       parameters.size() != Attention::parameters + Attention::blockParameters))
    throw InternalError("step '" + step.name + "': attention takes 4 or 5 operands and " +
                        std::to_string(Attention::parameters) + " parameters");
  Attention sizes = read(parameters);
  for (int64_t size : {sizes.depth, sizes.width, sizes.query.row, sizes.key.row, sizes.value.row,
                       sizes.result.row})
    if (size > INT_MAX)
      throw Error(ErrorKind::Unsupported, "step '" + step.name +
                                              "': OpenBLAS expects sizes up to 2^31 - 1, got " +
                                              std::to_string(size));
  auto operand = [&](size_t i) { return static_cast<const float *>(buffers[i]); };
  bool hasBias = step.operands.size() == 5;
  attend(sizes, operand(0), operand(1), operand(2), hasBias ? operand(3) : nullptr,
         static_cast<float *>(buffers[hasBias ? 4 : 3]), pool);
}

std::string refusalOfBlocks(const Attention &attention) {
  for (auto [name, block] :
       {std::pair("queries", attention.queryBlock), {"keys", attention.keyBlock}})
    if (block < 0 || block > maxScores)
      return std::string(name) + ": expected 0, or 1 to " + std::to_string(maxScores);
  int64_t scores = queriesAtOnce(attention) * keysAtOnce(attention);
  if (scores > maxScores)
    return "queries, keys: expected blocks of at most " + std::to_string(maxScores) +
           " scores, got " + std::to_string(scores);
  return "";
}

std::string attentionStepFault(std::span<const int64_t> parameters,
                               std::span<const int64_t> operandBytes) {
  Attention s = read(parameters);
  if (std::string reason = refusalOfBlocks(s); !reason.empty())
    return "is cut into blocks that it cannot have: " + reason;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i] < 0 && i != scaleAt)
      return "attends over a size of " + std::to_string(parameters[i]);
  auto reach = [&](const Attention::Rows &rows, int64_t count, int64_t columns) -> __int128 {
    if (s.batch == 0 || s.heads == 0 || count == 0 || columns == 0)
      return 0;
    return __int128{s.batch - 1} * rows.batch + __int128{s.heads - 1} * rows.head +
           __int128{count - 1} * rows.row + columns;
  };
  size_t last = operandBytes.size() - 1;
  std::array<__int128, 5> elements = {reach(s.query, s.queries, s.depth),
                                      reach(s.key, s.keys, s.depth),
                                      reach(s.value, s.keys, s.width), 0, 0};
  elements[last] = reach(s.result, s.queries, s.width);
  if (last == 4 && s.keys > 0)
    elements[3] = reach({s.bias.batch, s.bias.head, s.bias.row}, s.queries, 1) +
                  __int128{s.keys - 1} * s.bias.column;
  for (size_t i = 0; i <= last; ++i)
    if (elements[i] > operandBytes[i] / static_cast<int64_t>(sizeof(float)))
      return "leaves its operand " + std::to_string(i) + " of " + std::to_string(operandBytes[i]) +
             " bytes";
  for (auto [rows, columns] : {std::pair(s.query.row, s.depth),
                               {s.key.row, s.depth},
                               {s.value.row, s.width},
                               {s.result.row, s.width}})
    if (rows < columns)
      return "has rows of " + std::to_string(columns) + " elements that are " +
             std::to_string(rows) + " apart";
  return "";
}

} // namespace headrace
